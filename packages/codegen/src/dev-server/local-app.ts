import { AsyncLocalStorage } from "node:async_hooks";
import type { LocalApp, Workflows } from "@stepwise/studio";
import { spanLongTimers, type TimerHost } from "@stepwise/testing";
import { componentsGeneric } from "convex/server";
import { checkComponent, logErrorsOnly, workflowComponentPath } from "./app-workflows.js";
import { openBackEnd } from "./back-end.js";
import { captureLogs } from "./captures.js";
import { type SeedTable, withSeed } from "./input.js";

interface LocalAppOptions {
  readonly functionsDir: string;
  /** As for `runWorkflow`. */
  readonly component: string;
  readonly output: string;
  readonly seed: readonly SeedTable[];
  /** What functions print. */
  readonly onLog: (text: string) => void;
}

export interface OpenLocalApp extends LocalApp {
  /** Takes in the app's functions as they are now. */
  reload(): Promise<void>;
  close(): void;
}

/** An app on the embedded back end, in real time, for as long as it is wanted. @throws as `runWorkflow` */
export async function openLocalApp(options: LocalAppOptions): Promise<OpenLocalApp> {
  const { functionsDir, component, output, seed, onLog } = options;
  const back = await openBackEnd(functionsDir, output);
  // Node's types say more of a timer than is asked here.
  const giveTimersBack = spanLongTimers(globalThis as unknown as TimerHost);
  const releaseLogs = captureLogs(onLog);
  const close = () => {
    releaseLogs();
    giveTimersBack();
    back.close();
  };
  const listeners = new Set<() => void>();
  // Functions run in a context of their own, in which convex-test refuses timers.
  const outside = AsyncLocalStorage.snapshot();
  const changed = () =>
    outside(() => {
      // Nothing is counted here, and the studio may be open for days.
      back.counter.clear();
      for (const listener of listeners) listener();
    });
  try {
    checkComponent(back, component);
    await logErrorsOnly(back);
    await withSeed(back, null, seed);
  } catch (error) {
    close();
    throw error;
  }
  back.counter.onCall(({ how }) => {
    if (how !== "nested") changed();
  });
  return {
    // What a mounted component offers is known at run time only.
    component: componentsGeneric()[workflowComponentPath(back)] as unknown as LocalApp["component"],
    workflows: async () =>
      ((await back.load(`${output}/index`)) as { workflows: Workflows }).workflows,
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
