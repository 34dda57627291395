import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { deploymentSource, localSource, serveStudio } from "@stepwise/studio";
import type { SkippingRun } from "@stepwise/studio/mcp";
import { ConvexClient } from "convex/browser";
import { compile, type CompileResult, writeGenerated } from "../compile.js";
import { type FirstRun, openLocalApp } from "../dev-server/index.js";
import { explain } from "../explain/explain.js";
import { graphOf } from "../graph/graph.js";
import type { WrittenPlan } from "../plan/schema.js";
import { toWritten } from "../plan/write.js";
import { compilerVersion } from "../version.js";
import { displayPath, functionsFolder, UsageError } from "./functions-folder.js";
import { generateWatch } from "./generate-watch.js";
import { answerOf, baselineFor } from "./plans.js";
import { withoutFrames } from "./report.js";
import { loadEnvironment, readSeed } from "./run-input.js";
import { interruptOf, printTo, type Terminal } from "./terminal.js";

interface StudioOptions {
  readonly dir?: string;
  readonly port?: number;
  /** What changes are compared with, such as the commit that is deployed. */
  readonly against?: string;
  readonly seed?: string;
  /** The deployment whose runs are shown, in the place of the embedded back end. */
  readonly url?: string;
  /** The app's module with the functions of `defineStudioApi`. */
  readonly module?: string | undefined;
  readonly first?: FirstRun;
  /** Makes the client of a deployment: Convex's own, but in tests. */
  readonly connect?: (url: string) => ConvexClient;
}

type OpenSource = Awaited<ReturnType<typeof openSource>>;

/** Serves the studio's page, and compiles on every save, until the user ends it. */
export async function studio(options: StudioOptions, terminal: Terminal): Promise<0 | 1> {
  checkSource(options);
  const functionsDir = functionsFolder(terminal.cwd, options.dir);
  await checkSeed(options);
  const { out, err, colors } = printTo(terminal);
  const stop = new AbortController();
  interruptOf(terminal).addEventListener("abort", () => stop.abort(), { once: true });
  /** Why the page cannot be shown at all. An app that is broken may be mended by the next save. */
  let failure: UsageError | undefined;
  const fail = (what: string) => (cause: Error) => {
    failure = new UsageError(`${what}: ${cause.message}`, { cause });
    stop.abort();
    throw failure;
  };
  let latest: CompileResult | undefined;
  let opened: OpenSource | undefined;
  let page: Awaited<ReturnType<typeof serveStudio>> | undefined;
  const open = async (result: CompileResult) => {
    const opening = openSource(functionsDir, result, options, (text) => err(colors.dim(text)));
    const { url: address } = options;
    opened = await (address === undefined
      ? opening
      : opening.catch(fail(`The deployment ${address} cannot be opened`)));
    const { source, runId } = opened;
    const title = options.url ?? displayPath(terminal.cwd, functionsDir);
    const plans = () => latest && plansOf(functionsDir, latest);
    page = await serveStudio({ source, title, plans, port: options.port }).catch(
      fail(
        `The studio cannot listen${options.port === undefined ? "" : ` on port ${options.port}`}`,
      ),
    );
    const url = runId === undefined ? page.url : `${page.url}&run=${runId}`;
    out(`The studio: ${colors.bold(url)}`);
  };
  await generateWatch(functionsDir, terminal, {
    against: options.against,
    signal: stop.signal,
    ready: () => out("Watching for changes. Press Ctrl-C to stop."),
    onCompiled: async (result) => {
      latest = result;
      await (opened === undefined ? open(result) : opened.reload());
    },
  });
  await page?.close();
  await opened?.close();
  return failure === undefined ? 0 : 1;
}

/** @throws UsageError unless the options go together, and a deployment's address is one */
function checkSource({ url, module, seed }: StudioOptions): void {
  if (url === undefined && module !== undefined)
    throw new UsageError(
      "--module needs --url: it names the module of a deployment that calls defineStudioApi.",
    );
  if (module !== undefined && !/^\w+(?:\/\w+)*$/.test(module))
    throw new UsageError(
      `--module ${JSON.stringify(module)} is no module of the functions folder, such as studio or admin/studio.`,
    );
  if (url !== undefined && seed !== undefined)
    throw new UsageError("--url and --seed do not go together: a deployment has its own data.");
  if (url !== undefined && !(/^https?:\/\//i.test(url) && URL.canParse(url)))
    throw new UsageError(
      `--url ${JSON.stringify(url)} is not the address of a deployment, such as https://happy-otter-123.convex.cloud.`,
    );
}

/** @throws UsageError if the seed cannot be read */
async function checkSeed({ seed }: StudioOptions): Promise<void> {
  if (seed === undefined) return;
  await readSeed(seed).catch((error: Error) => {
    throw new UsageError(error.message, { cause: error });
  });
}

/** Offers the workflows and their runs to a coding agent, until it closes stdin. */
export async function mcp(options: StudioOptions, terminal: Terminal): Promise<0 | 1> {
  checkSource(options);
  const functionsDir = functionsFolder(terminal.cwd, options.dir);
  await checkSeed(options);
  const baseline = await baselineFor(undefined, functionsDir, terminal.cwd);
  const { serveMcp } = await import("@stepwise/studio/mcp");
  let opened: OpenSource | undefined;
  const latest = async () => {
    const result = await compile({ functionsDir, baseline });
    const { ok, files, output } = result;
    if (ok) await writeGenerated(functionsDir, files, { folders: [output] });
    if (ok) await opened?.reload();
    return result;
  };
  const open = async () => {
    const result = await latest();
    if (!result.ok) throw new UsageError("The workflows do not compile. Call check.");
    return await openSource(functionsDir, result, options, printTo(terminal).err);
  };
  await serveMcp({
    version: compilerVersion(),
    signal: interruptOf(terminal),
    check: async () => {
      const result = await latest();
      const { changes } = answerOf(functionsDir, result);
      return { ok: result.ok, problems: result.diagnostics.map(withoutFrames), changes };
    },
    explain: async () => explain((await latest()).plan),
    runSkippingTime: async (run) => await runApart(run, options, terminal.cwd),
    source: async () => (opened ??= await open()).source,
  });
  await opened?.close();
  return 0;
}

/** Runs a workflow in a process of its own, as it takes over the clock. Gives what it printed. */
async function runApart(run: SkippingRun, options: StudioOptions, cwd: string): Promise<unknown> {
  // In files: Linux takes arguments of 128 KB at most.
  const folder = await mkdtemp(join(tmpdir(), "workflow-codegen-"));
  try {
    return await runWith(run, options, cwd, folder);
  } finally {
    await rm(folder, { recursive: true });
  }
}

async function runWith(
  { workflow, input, events }: SkippingRun,
  { dir, seed }: StudioOptions,
  cwd: string,
  folder: string,
): Promise<unknown> {
  const inputFile = join(folder, "input.json");
  const eventsFile = join(folder, "events.json");
  await writeFile(inputFile, JSON.stringify(input ?? {}));
  await writeFile(eventsFile, JSON.stringify(events));
  const given = { input: `@${inputFile}`, events: `@${eventsFile}`, dir, seed };
  const words = Object.entries(given).flatMap(([name, value]) =>
    value === undefined ? [] : [`--${name}`, value],
  );
  const command = fileURLToPath(new URL("../../bin/workflow-codegen.js", import.meta.url));
  const child = spawn(process.execPath, [command, "run", "--skip-time", ...words, "--", workflow], {
    cwd,
    stdio: ["ignore", "pipe", "pipe"],
  });
  const [[code], output, progress] = await Promise.all([
    once(child, "close"),
    text(child.stdout),
    text(child.stderr),
  ]);
  return { ok: code === 0, output: code === 0 ? JSON.parse(output) : null, progress };
}

/**
 * Returns where runs come from, while they are shown. @param onLog gets what functions of the app
 * print
 */
export async function openSource(
  functionsDir: string,
  result: CompileResult,
  { seed, url, module = "studio", first, connect = (at) => new ConvexClient(at) }: StudioOptions,
  onLog: (text: string) => void,
) {
  loadEnvironment(process.cwd());
  if (url !== undefined) return openDeployment(connect(url), module);
  const { plan, output } = result;
  const component = plan.config?.values.component;
  const seeded = seed === undefined ? [] : await readSeed(seed);
  const app = await openLocalApp({ functionsDir, component, output, seed: seeded, first }, onLog);
  return { source: localSource(app), runId: app.runId, reload: app.reload, close: app.close };
}

/** With `CONVEX_DEPLOY_KEY`, which stays in this process, internal functions can be called too. */
function openDeployment(client: ConvexClient, module: string) {
  const key = process.env["CONVEX_DEPLOY_KEY"];
  // Convex's own tools sign in by this, which the types of `convex` leave out.
  const { setAdminAuth } = client as unknown as { setAdminAuth(key: string): void };
  if (key !== undefined) setAdminAuth.call(client, key);
  return {
    source: deploymentSource(client, module),
    runId: undefined,
    reload: async () => {},
    close: async () => await client.close(),
  };
}

/** Returns what the page shows: graphs and costs of the workflows, and what a deploy would stop. */
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
