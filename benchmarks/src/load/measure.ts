import { type Deployment, type DeploymentClass, S256, textOf } from "@stepwise/testing";
import { deployed, type Engine } from "./engines.js";

/** What an engine is put under. */
export interface Load {
  readonly title: string;
  readonly class?: DeploymentClass;
  readonly pool: number;
  /** How many actions, or works, there are in all. */
  readonly actions: number;
  /** How many pools its app has. Default: one. */
  readonly pools?: number;
  /** Calls from outside: when, in ms from the beginning, which function, and with what. */
  calls(): Iterable<readonly [at: number, name: string, args: CallArgs]>;
  /**
   * One call of the kind, on which the engine sets up what it needs; its actions are not counted.
   */
  readonly warmUp: readonly [name: string, args: Record<string, unknown>];
  /** Virtual ms after which it is given up. Default: an hour. */
  readonly mostMs?: number;
  /** It lasts until nothing is left to do. Default: until the actions have ended. */
  readonly toRest?: boolean;
  /** It takes so long that it is measured with one seed only, and the usual mutations. */
  readonly isLong?: boolean;
}

type Args = Record<string, unknown>;
/** Arguments, or what makes them of the results of the calls so far, by their order. */
type CallArgs = Args | ((results: readonly unknown[]) => Args);

export interface Measured {
  /** Calls from outside that failed. */
  readonly refused: number;
  /** Actions that have ended, out of all. */
  readonly done: number;
  readonly seconds: number;
  readonly perSecond: number;
  /** Per action. */
  readonly conflicts: number;
  /** Root executions per action, without the calls from outside. */
  readonly calls: number;
  /** What transactions have read per action, those that lost included. */
  readonly documentsRead: number;
  readonly kbRead: number;
  /** Calls whose attempts were used up, by function. */
  readonly exhausted: Readonly<Record<string, number>>;
  /** By function: conflicts. */
  readonly conflictsOf: Readonly<Record<string, number>>;
  readonly failures: Readonly<Record<string, number>>;
  readonly deployment: Deployment;
}

const REST_MS = 120_000;
const ACTION = /(^|\/)(steps:act|steps:fail|settling:act|limited:act)/;

/** @param watch gets the deployment before the load begins. */
export async function measure(
  load: Load,
  engine: Engine,
  seed: number,
  conditions: readonly string[] = [],
  watch: (deployment: Deployment) => void = () => {},
): Promise<Measured> {
  const of = { class: load.class ?? S256, pool: load.pool, pools: load.pools ?? 1 };
  const deployment = await deployed(engine, of, seed, conditions);
  const { clock } = deployment;
  deployment.at(0, () => deployment.mutation(...load.warmUp));
  await deployment.advance(REST_MS);

  const began = clock.now();
  const counts = { done: 0, conflicts: 0, refused: 0, calls: 0, lastAt: began };
  const costs = { executions: 0, documentsRead: 0, bytesRead: 0 };
  const exhausted: Record<string, number> = {};
  const conflictsOf: Record<string, number> = {};
  const failures: Record<string, number> = {};
  const add = (to: Record<string, number>, key: string) => void (to[key] = (to[key] ?? 0) + 1);
  const ended = () => {
    counts.done += 1;
    if (!load.toRest) counts.lastAt = clock.now();
  };
  // Mutations of the app leave a row each.
  deployment.onCommit(({ writes }) => {
    for (const { table, old } of writes)
      if (table.component === "" && table.name === "done" && old === undefined) ended();
  });
  deployment.onHappening((event) => {
    if (event.what === "began" || event.what === "committed") costs.executions += 1;
    else if (event.what === "ran") {
      const { usage, staleUsage } = event.transaction;
      costs.documentsRead += usage.documentsRead + staleUsage.documentsRead;
      costs.bytesRead += usage.bytesRead + staleUsage.bytesRead;
    }
    if (event.what === "ended" && ACTION.test(textOf(event.path))) ended();
    if (load.toRest && event.what === "committed") counts.lastAt = clock.now();
    if (event.what === "conflict") {
      counts.conflicts += 1;
      const { table, index, commit } = event.with;
      add(conflictsOf, `${textOf(event.path)} <- ${table.path}.${index} by ${commit.by}`);
    } else if (event.what === "exhausted") add(exhausted, textOf(event.path));
    else if (event.what === "failed") add(failures, `${textOf(event.path)}: ${event.error}`);
  });
  watch(deployment);
  let left = 0;
  const results: unknown[] = [];
  for (const [at, name, args] of load.calls()) {
    const call = counts.calls;
    left += 1;
    counts.calls += 1;
    deployment.at(at, async () => {
      try {
        const given = typeof args === "function" ? args(results) : args;
        results[call] = await deployment.mutation(name, given);
      } catch {
        counts.refused += 1;
      } finally {
        left -= 1;
      }
    });
  }
  const perCall = load.actions / counts.calls;
  const until = began + (load.mostMs ?? 3_600_000);
  const isDone = () =>
    !load.toRest && left === 0 && counts.done >= load.actions - counts.refused * perCall;
  await deployment.drive({ done: () => isDone() || clock.now() > until });
  const seconds = (counts.lastAt - began) / 1_000;
  return {
    refused: counts.refused,
    done: counts.done,
    seconds,
    perSecond: (load.toRest ? load.actions : counts.done) / seconds,
    conflicts: counts.conflicts / load.actions,
    calls: (costs.executions - counts.calls + counts.refused) / load.actions,
    documentsRead: costs.documentsRead / load.actions,
    kbRead: costs.bytesRead / 1_024 / load.actions,
    exhausted,
    conflictsOf,
    failures,
    deployment,
  };
}
