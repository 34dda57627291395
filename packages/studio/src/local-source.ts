import type { MutationRunner, QueryRunner } from "@stepwise/workflow";
import type { ComponentApi } from "@stepwise/workflow/_generated/component.js";
import { compareValues, type Value } from "convex/values";
import type { DataSource } from "./data-source.js";
import { readFunctions, writeFunctions, type Workflows } from "./functions.js";

/** An app whose transactions run in this process. */
export interface LocalApp {
  readonly component: ComponentApi;
  /** Gives them as they are now: a save may have changed them. */
  workflows(): Promise<Workflows>;
  query<Result>(handler: (ctx: QueryRunner) => Promise<Result>): Promise<Result>;
  mutation<Result>(
    handler: (ctx: QueryRunner & MutationRunner) => Promise<Result>,
  ): Promise<Result>;
  /** Calls `listener` when a transaction may have changed something. Returns what ends that. */
  onChange(listener: () => void): () => void;
}

/** The shortest time between two reads of what is watched, in ms: ten times a second looks live. */
const PAUSE_MS = 100;
/** By then a transaction of this process has been committed, in ms. */
const COMMIT_MS = 10;

/** The runs of an app in this process, such as on the embedded back end. */
export function localSource(app: LocalApp): DataSource {
  const read: DataSource["read"] = async (name, args) => {
    const functions = readFunctions(app.component, await app.workflows());
    return await app.query(async (ctx) => await functions[name](ctx, args));
  };
  return {
    read,
    write: async (name, args) => {
      const functions = writeFunctions(app.component, await app.workflows());
      return await app.mutation(async (ctx) => await functions[name](ctx, args));
    },
    watch: (name, args, onValue, onError) =>
      repeat(app, async (isCurrent, last: { value?: unknown }) => {
        try {
          const value = await read(name, args);
          // Results are Convex values.
          if (!isCurrent() || ("value" in last && isSame(value, last.value))) return;
          last.value = value;
          onValue(value);
        } catch (error) {
          delete last.value;
          if (isCurrent()) onError(error instanceof Error ? error : new Error(String(error)));
        }
      }),
  };
}

const isSame = (one: unknown, other: unknown): boolean =>
  compareValues(one as Value | undefined, other as Value | undefined) === 0;

/** Does something now and after each change, one at a time. Returns what ends it. */
function repeat(
  app: LocalApp,
  look: (isCurrent: () => boolean, last: { value?: unknown }) => Promise<void>,
): () => void {
  const last = {};
  const state = { isOver: false, isBusy: false, hasChanged: true };
  const isCurrent = () => !state.isOver;
  const next = async () => {
    if (state.isBusy) return;
    state.isBusy = true;
    while (state.hasChanged && isCurrent()) {
      state.hasChanged = false;
      await look(isCurrent, last);
      await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
    }
    state.isBusy = false;
  };
  const changed = () => {
    state.hasChanged = true;
    void next();
  };
  // What is told of may not be committed yet.
  const stop = app.onChange(() => void setTimeout(changed, COMMIT_MS));
  void next();
  return () => {
    state.isOver = true;
    stop();
  };
}
