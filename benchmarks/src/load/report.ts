import { S16, S256 } from "@stepwise/testing";
import type { Engine } from "./engines.js";
import { LOADS } from "./loads.js";
import { measure, type Measured } from "./measure.js";

export const SEEDS = [1, 2, 3] as const;

type Told = Pick<Measured, "refused" | "done" | "perSecond" | "conflicts" | "seconds"> & {
  readonly exhausted: number;
};

async function told(name: string, engine: Engine, seed: number): Promise<Told> {
  const { exhausted, refused, done, perSecond, conflicts, seconds } = await measure(
    LOADS[name]!,
    engine,
    seed,
  );
  const sum = Object.values(exhausted).reduce((all, count) => all + count, 0);
  return { refused, done, perSecond, conflicts, seconds, exhausted: sum };
}

/**
 * One row of the table: of each column the least and the most over the seeds, ours / the peer's.
 */
async function row(name: string, seeds: readonly number[]): Promise<string> {
  const of: Record<Engine, Told[]> = { ours: [], peer: [] };
  for (const engine of ["ours", "peer"] as const)
    for (const seed of seeds) of[engine].push(await told(name, engine, seed));
  const column = (what: keyof Told, digits: number) =>
    (["ours", "peer"] as const)
      .map((engine) =>
        span(
          of[engine].map((each) => each[what]),
          digits,
        ),
      )
      .join(" / ");
  const { title, actions } = LOADS[name]!;
  return `| ${title} | ${column("refused", 0)} | ${column("done", 0)} of ${actions} | ${column("perSecond", 0)} | ${column("conflicts", 2)} | ${column("exhausted", 0)} |`;
}

function span(all: readonly number[], digits: number): string {
  const [least, most] = [Math.min(...all).toFixed(digits), Math.max(...all).toFixed(digits)];
  return least === most ? least : `${least}-${most}`;
}

/** What `load.md` says. The same on every machine: time is virtual there. */
export async function loadReport(
  peers: string,
  names = Object.keys(LOADS),
  seeds: readonly number[] = SEEDS,
): Promise<string> {
  const rows: string[] = [];
  for (const name of names) rows.push(await row(name, seeds));
  const ms = ([from, to]: readonly [number, number]) => `${from}-${to} ms`;
  return `# Under load

Written by \`npm run bench:load\`. Each cell is ours / the peer's, which is ${peers}; where the seeds ${seeds.join(", ")} differ, the least and the most.

| load | refused | actions done | a second | conflicts an action | used up |
| --- | --- | --- | --- | --- | --- |
${rows.join("\n")}

_Refused_ are calls from outside that failed; what was refused never ran. _Conflicts_ are attempts of transactions that lost to others, per action.
_Used up_ are calls, from outside or by an action, whose five attempts all lost.

## What is assumed

The deployment is simulated by \`@stepwise/testing\`, in virtual time, from the facts that its tests name. It is of class S256 (${S256.scheduledAtOnce} scheduled functions at once,
${S256.mutationPermits} mutations), unless a row says S16 (${S16.scheduledAtOnce} and ${S16.mutationPermits}). Every action takes 200 ms. A mutation takes ${ms(S256.mutationMs)} from its begin to its commit, a query ${ms(S256.queryMs)}, and a commit is
seen by others ${ms(S256.persistMs)} later. The scheduler comes to what is due after ${ms(S256.passMs)}; an action takes ${ms(S256.actionStartMs)} to be started, and each of its calls ${S256.callMs} ms there and back.
Before each load one call of its kind is made, and comes to rest.

Not modelled: that a function's time depends on what it does, caches of queries and subscriptions, isolates and their memory, the queue before the committer,
and searches. The peers' packages run unmodified, as ours do.
`;
}
