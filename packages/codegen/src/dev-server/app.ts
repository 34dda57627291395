import { AsyncLocalStorage } from "node:async_hooks";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { Console } from "node:console";
import { Writable } from "node:stream";
import { inspect } from "node:util";
import type { LocalApp, Workflows } from "@stepwise/studio";
import { type Clock, type Counter, realTime } from "@stepwise/testing";
import { componentsGeneric } from "convex/server";
import { suggestion } from "../diagnostics/nearest.js";
import { configFile, usualComponent } from "../plan/paths.js";
import { type BackEnd, openBackEnd } from "./back-end.js";
import { type SeedTable, withSeed, withStoredFiles } from "./input.js";
import type { RunWorkflowOptions } from "./run-workflow.js";

const RUN_TIME = "@stepwise/workflow";

export interface AppOptions {
  /** Absolute path of the app's functions folder, with its generated code up to date. */
  readonly functionsDir: string;
  /** The name under which generated code looks for the component. Default: `workflow`. */
  readonly component?: string | undefined;
  /** The folder under the functions folder that holds generated code. Default: `_workflows`. */
  readonly output?: string | undefined;
}

/** An app on the embedded back end, with the component of its runs. */
export type App = Awaited<ReturnType<typeof openApp>>;

interface WorkflowsIndex {
  readonly workflows: Workflows;
  readonly workflow: {
    start(ctx: unknown, reference: unknown, input: unknown): Promise<string>;
    sendEvent(ctx: unknown, reference: unknown, ...of: [string, string, unknown]): Promise<unknown>;
  };
}

/** Opens an app. @param onLog gets what functions print @throws if it cannot be mounted */
export async function openApp(
  { functionsDir, component: wanted = usualComponent, output }: AppOptions,
  clockOf: (counter: Counter) => Clock,
  onLog: (text: string) => void,
) {
  const back = await openBackEnd(functionsDir, output);
  const clock = clockOf(back.counter);
  const releaseLogs = captureLogs(onLog);
  const close = () => {
    releaseLogs();
    clock.stop();
    back.close();
  };
  /** The manager, and the reference of one workflow. @throws when the app has no such workflow */
  const load = async (name: string) => {
    const { workflow, workflows } = await indexOf(functionsDir, back);
    const reference = Object.hasOwn(workflows, name) ? workflows[name] : undefined;
    if (reference !== undefined) return { workflow, reference };
    const hint = suggestion(name, Object.keys(workflows).sort(), "workflows");
    throw new Error(`There is no workflow "${name}". ${hint}`);
  };
  try {
    const component = componentIn(back, wanted);
    // Unless the app's config says how much is logged.
    const quietly = { logLevel: "ERROR" } as const;
    await back.counter.uncounted(
      async () => await back.t.mutation((ctx) => ctx.runMutation(component.config.update, quietly)),
    );
    return {
      back,
      clock,
      component,
      /** Starts a run in a mutation; gives its id. @throws if `start` refuses the input */
      start: async (name: string, input: unknown) => {
        const { workflow, reference } = await load(name);
        return await back.t.mutation((ctx) => workflow.start(ctx, reference, input));
      },
      /** Sends a run an event in a mutation. @throws if it is not taken */
      sendEvent: async (name: string, ...of: [runId: string, event: string, value: unknown]) => {
        const { workflow, reference } = await load(name);
        await back.t.mutation((ctx) => workflow.sendEvent(ctx, reference, ...of));
      },
      close,
    };
  } catch (error) {
    close();
    throw error;
  }
}

async function indexOf(functionsDir: string, back: BackEnd): Promise<WorkflowsIndex> {
  const index = `${back.output}/index`;
  const loading = back.load(index).catch(async (error: Error) => {
    throw await notLoaded(functionsDir, back, error);
  });
  const loaded = (await loading) as WorkflowsIndex | undefined;
  if (loaded === undefined) throw new Error(`There is no ${index} in the functions folder.`);
  return loaded;
}

/** What prevents all workflows from being loaded, by the names of those that cannot be. */
async function notLoaded(functionsDir: string, back: BackEnd, cause: Error): Promise<Error> {
  const broken: string[] = [];
  for (const path of back.generated()) {
    const isBroken = await back.load(path).then(
      () => false,
      () => true,
    );
    // The first line of a generated file says what it is made from.
    const text = await readFile(join(functionsDir, `${path}.ts`), "utf8").catch(() => "");
    const [, file] = /^.* from (\S+)\. Do not edit/.exec(text) ?? [];
    if (isBroken && file !== undefined) broken.push(`"${path.split("/").at(-1)}" (${file})`);
  }
  if (broken.length === 0) return cause;
  const more = broken.length > 3 ? ` and ${broken.length - 3} others` : "";
  const which = `Workflow ${broken.slice(0, 3).join(", ")}${more}`;
  return new Error(`${which} cannot be loaded, so no deployment would take the app`, { cause });
}

/** The component with the runs. @throws unless it is mounted where generated code looks for it */
function componentIn(back: BackEnd, wanted: string): LocalApp["component"] {
  const path = back.componentOf(RUN_TIME)?.path;
  if (path === undefined)
    throw new Error(
      `The app does not mount "${RUN_TIME}". Add to convex.config.ts:\n` +
        `  import workflow from "${RUN_TIME}/convex.config";\n  app.use(workflow);\n` +
        "or have workflow-codegen init do it.",
    );
  // What a mounted component offers is known at run time only.
  if (path === wanted) return componentsGeneric()[path] as unknown as LocalApp["component"];
  throw new Error(
    `The app mounts "${RUN_TIME}" under the name "${path}", but generated code looks for "${wanted}". Say so in ${configFile}:\n` +
      `  export default defineConfig({ component: "${path}" });\n` +
      "or have workflow-codegen init do it.",
  );
}

/** Hands what functions print, and unhandled rejections, to `log`; returns what ends this. */
function captureLogs(log: (text: string) => void): () => void {
  const stream = new Writable({
    write(chunk: Buffer, _encoding, done) {
      log(chunk.toString().replace(/\n$/, ""));
      done();
    },
  });
  const own = globalThis.console;
  globalThis.console = new Console({ stdout: stream, stderr: stream, colorMode: false });
  const onRejection = (reason: unknown) => log(`Unhandled rejection: ${inspect(reason)}`);
  process.on("unhandledRejection", onRejection);
  return () => {
    globalThis.console = own;
    process.off("unhandledRejection", onRejection);
  };
}

export type FirstRun = Pick<RunWorkflowOptions, "workflow" | "input" | "files">;

interface OpenLocalApp extends LocalApp, Pick<App, "close"> {
  readonly runId?: string | undefined;
  reload(): Promise<void>;
}

/** An app for the studio, in real time, for as long as it is wanted. @throws as {@link openApp} */
export async function openLocalApp(
  options: AppOptions & { readonly seed: readonly SeedTable[]; readonly first?: FirstRun },
  onLog: (text: string) => void,
): Promise<OpenLocalApp> {
  const { back, component, close, start } = await openApp(options, realTime, onLog);
  const { first, seed } = options;
  const listeners = new Set<() => void>();
  // Functions run in a context of their own, in which convex-test refuses timers.
  const outside = AsyncLocalStorage.snapshot();
  const changed = () =>
    outside(() => {
      // Nothing is counted here, and the studio may be open for days.
      back.counter.clear();
      for (const listener of listeners) listener();
    });
  const begin = async () => {
    const { input, ids } = await withSeed(back, first?.input ?? null, seed);
    for (const [label, id] of ids) onLog(`The id of "${label}" is ${id}`);
    if (first === undefined) return undefined;
    return await start(first.workflow, await withStoredFiles(back.t, input, first.files ?? []));
  };
  const runId = await begin().catch((error: unknown) => {
    close();
    throw error;
  });
  back.counter.onCall(({ how }) => {
    if (how !== "nested") changed();
  });
  return {
    runId,
    component,
    workflows: async () => (await indexOf(options.functionsDir, back)).workflows,
    query: async (handler) => await back.counter.uncounted(async () => await back.t.query(handler)),
    mutation: async (handler) => await back.t.mutation(handler).finally(changed),
    onChange: (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    reload: async () => {
      await back.reload();
      changed();
    },
    close,
  };
}
