import { deploymentSource, localSource } from "@stepwise/studio";
import { ConvexClient } from "convex/browser";
import type { CompileResult } from "../compile.js";
import { type FirstRun, openLocalApp } from "../dev-server/index.js";
import { UsageError } from "./functions-folder.js";
import { loadEnvironment, readSeed } from "./run-input.js";

export interface SourceOptions {
  readonly dir?: string;
  readonly seed?: string;
  /** The deployment whose runs are shown, in the place of the embedded back end. */
  readonly url?: string;
  /** The app's module with the functions of `defineStudioApi`. */
  readonly module: string;
  readonly first?: FirstRun;
  /** Makes the client of a deployment: Convex's own, but in tests. */
  readonly connect?: (url: string) => ConvexClient;
}

/** Where runs come from, for as long as they are shown. */
export type OpenSource = Awaited<ReturnType<typeof openSource>>;

/** @param onLog gets what functions on the embedded back end print */
export async function openSource(
  functionsDir: string,
  result: CompileResult,
  { seed, url, module, first, connect = (at) => new ConvexClient(at) }: SourceOptions,
  onLog: (text: string) => void,
) {
  if (url !== undefined && seed !== undefined)
    throw new UsageError("--url and --seed do not go together: a deployment has its own data.");
  loadEnvironment(process.cwd());
  if (url !== undefined) return openDeployment(connect(url), module);
  const { plan, output } = result;
  const app = await openLocalApp(
    {
      functionsDir,
      component: plan.config?.values.component,
      output,
      seed: seed === undefined ? [] : await readSeed(seed),
      first,
    },
    onLog,
  );
  return { source: localSource(app), runId: app.runId, reload: app.reload, close: app.close };
}

/** Convex's own tools sign in with a deploy key by this, which the types of `convex` leave out. */
interface TakesDeployKey {
  setAdminAuth(key: string): void;
}

/** With `CONVEX_DEPLOY_KEY`, which stays in this process, internal functions can be called too. */
function openDeployment(client: ConvexClient, module: string) {
  const key = process.env["CONVEX_DEPLOY_KEY"];
  if (key !== undefined) (client as unknown as TakesDeployKey).setAdminAuth(key);
  return {
    source: deploymentSource(client, module),
    runId: undefined,
    reload: async () => {},
    close: async () => await client.close(),
  };
}
