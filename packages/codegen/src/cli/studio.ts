import { serveStudio } from "@stepwise/studio";
import type { CompileResult } from "../compile.js";
import { explain } from "../explain/explain.js";
import { graphOf } from "../graph/model.js";
import type { WrittenPlan } from "../plan/schema.js";
import { toWritten } from "../plan/write.js";
import { displayPath, functionsFolder } from "./functions-folder.js";
import { generateWatch } from "./generate-watch.js";
import { answerOf } from "./plans.js";
import { openSource, type OpenSource, type SourceOptions } from "./source.js";
import { printTo, type Terminal } from "./terminal.js";

export interface StudioOptions extends SourceOptions {
  readonly port?: number;
  /** What changes are compared with, such as the commit that is deployed. */
  readonly against?: string;
}

/** Serves the studio's page, and compiles on every save, until the user ends it. */
export async function studio(options: StudioOptions, terminal: Terminal): Promise<0 | 1> {
  const functionsDir = functionsFolder(terminal.cwd, options.dir);
  const { out, err, colors } = printTo(terminal);
  let latest: CompileResult | undefined;
  let opened: OpenSource | undefined;
  let close = async () => {};
  const open = async (result: CompileResult) => {
    const onLog = (text: string) => err(colors.dim(text));
    opened = await openSource(functionsDir, result, options, onLog);
    const { source, runId } = opened;
    const title = options.url ?? displayPath(terminal.cwd, functionsDir);
    const plans = () => latest && plansOf(functionsDir, latest);
    const page = await serveStudio({ source, title, plans, port: options.port });
    close = async () => {
      await page.close();
      await opened?.close();
    };
    const url = runId === undefined ? page.url : `${page.url}&run=${runId}`;
    out(`The studio: ${colors.bold(url)}`);
  };
  await generateWatch(functionsDir, terminal, {
    against: options.against,
    ready: () => out("Watching for changes. Press Ctrl-C to stop."),
    onCompiled: async (result) => {
      latest = result;
      await (opened === undefined ? open(result) : opened.reload());
    },
  });
  await close();
  return 0;
}

/** What the page shows: graphs and costs of the workflows, and what a deploy would stop. */
function plansOf(functionsDir: string, result: CompileResult) {
  const { workflows, children } = graphOf(result.plan);
  const { changes, against } = answerOf(functionsDir, result);
  const hashes = hashesOf(toWritten(result.plan));
  const comparedHashes = hashesOf(result.baseline?.plan);
  const costs = explain(result.plan);
  return { workflows, children, hashes, comparedHashes, costs, changes, against };
}

const hashesOf = (plan: WrittenPlan | undefined): Record<string, string> =>
  Object.fromEntries((plan?.workflows ?? []).map(({ name, hash }) => [name, hash]));
