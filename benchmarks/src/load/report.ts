import { S16, S256 } from "@stepwise/testing";
import type { Engine } from "./engines.js";
import { LIMITED } from "./limited.js";
import { LOADS } from "./loads.js";
import type { Measured } from "./measure.js";
import type { MeasuredLimits } from "./measure-limits.js";

type OfLimits = Omit<MeasuredLimits, keyof Measured>;

/** What is said of one load, as `main.ts` prints it with `--json`. */
export type Told = Omit<Measured, "exhausted" | "conflictsOf" | "failures" | "deployment"> &
  Partial<OfLimits> & { readonly exhausted: number };

type Counted = Exclude<keyof Told, keyof OfLimits>;

/** One measurement of the page. */
export interface Asked {
  readonly name: string;
  readonly engine: Engine;
  readonly seed: number;
  /** How long mutations take, in ms, as `3-8`. Default: the class's. */
  readonly mutation?: string;
}

/** The mutations that loads are also put under. */
const OTHER_MUTATIONS = ["3-8", "30-60"] as const;

const isLong = (name: string): boolean => (LOADS[name] ?? LIMITED[name])?.isLong === true;

/** What the page needs, the most telling first. */
export function asked(names: readonly string[], seeds: readonly number[]): Asked[] {
  const engines = ["ours", "peer"] as const;
  const short = names.filter((name) => !isLong(name));
  return [
    ...seeds.flatMap((seed, index) =>
      engines.flatMap((engine) =>
        (index === 0 ? names : short).map((name) => ({ name, engine, seed })),
      ),
    ),
    ...Object.keys(LIMITED).flatMap((name) =>
      (isLong(name) ? seeds.slice(0, 1) : seeds).map(
        (seed) => ({ name, engine: "ours", seed }) as const,
      ),
    ),
    ...OTHER_MUTATIONS.flatMap((mutation) =>
      short.map((name) => ({ name, engine: "ours" as const, seed: seeds[0] ?? 1, mutation })),
    ),
  ];
}

/** The measurements of the page by what was asked; those that are missing were not made. */
export type Answers = ReadonlyMap<string, Told>;

export function keyOf({ name, engine, seed, mutation = "none" }: Asked): string {
  return `${name}-${engine}-${seed}-${mutation}`;
}

/**
 * One row of the table: of each column the least and the most over the seeds, ours / the peer's.
 */
function row(answers: Answers, name: string, seeds: readonly number[]): string {
  const told = (engine: Engine) =>
    seeds.flatMap((seed) => answers.get(keyOf({ name, engine, seed })) ?? []);
  const of = { ours: told("ours"), peer: told("peer") };
  const column = (what: Counted | ((told: Told) => number), digits: number) =>
    (["ours", "peer"] as const)
      .map((engine) =>
        span(
          of[engine].map((each) => (typeof what === "function" ? what(each) : each[what])),
          digits,
        ),
      )
      .join(" / ");
  const cells = [
    LOADS[name]?.title ?? name,
    column("refused", 0),
    column("perSecond", 0),
    column("conflicts", 2),
    column("exhausted", 0),
    column("calls", 1),
    column("documentsRead", 0),
    column("kbRead", 1),
    column(dollars, 1),
  ];
  return `| ${cells.join(" | ")} |`;
}

/** One row of what Stepwise does with limits. */
function limitedRow(answers: Answers, name: string, seeds: readonly number[]): string {
  const all = seeds.flatMap((seed) => answers.get(keyOf({ name, engine: "ours", seed })) ?? []);
  const cells = (
    [
      ["refused", 0],
      ["tooMany", 0],
      ["idleMs", 0],
      ["waitMs", 0],
      ["conflicts", 2],
      ["exhausted", 0],
      ["calls", 1],
      ["documentsRead", 0],
      ["documentsOfEnds", 0],
    ] as const
  ).map(([what, digits]) =>
    span(
      all.map((told) => told[what] ?? NaN),
      digits,
    ),
  );
  return `| ${[LIMITED[name]?.title ?? name, ...cells].join(" | ")} |`;
}

/** Convex's public prices beyond what a plan includes: per million calls, and per GB read. */
const CALLS_DOLLARS = 2;
const GB_DOLLARS = 0.2;

/** What a million works or steps cost, in dollars, of calls and of what is read. */
const dollars = ({ calls, kbRead }: Told): number => calls * CALLS_DOLLARS + kbRead * GB_DOLLARS;

/** One row of what is refused with mutations of other durations. */
function refusedRow(answers: Answers, name: string, seed: number): string {
  const cells = OTHER_MUTATIONS.map((mutation) => {
    const told = answers.get(keyOf({ name, engine: "ours", seed, mutation }));
    return told === undefined ? "not measured" : told.refused;
  });
  return `| ${LOADS[name]?.title ?? name} | ${cells.join(" | ")} |`;
}

function span(all: readonly number[], digits: number): string {
  if (all.length === 0) return "not measured";
  if (all.some(Number.isNaN)) return "–";
  const [least, most] = [Math.min(...all).toFixed(digits), Math.max(...all).toFixed(digits)];
  return least === most ? least : `${least}-${most}`;
}

/** What `load.md` says. The same on every machine: time is virtual there. */
export function loadReport(
  peers: string,
  answers: Answers,
  names: readonly string[],
  seeds: readonly number[],
): string {
  const ms = ([from, to]: readonly [number, number]) => `${from}-${to} ms`;
  return `# Under load

Written by \`npm run bench:load\`. Each cell is Stepwise / the peer, which is ${peers}.
Each load runs with ${seeds.length === 1 ? "the seed" : "the seeds"} ${seeds.join(", ")}. If seeds differ, a cell shows the lowest and the highest.
Loads of 10,000 and more, but for that of 20,000 in batches, run with the first seed only.

| load | refused | steps or works a second | conflicts each | used up | calls | documents | KB | $ |
| --- | --- | --- | --- | --- | --- | --- | --- | --- |
${names.map((name) => row(answers, name, seeds)).join("\n")}

- _Refused_: calls from outside that failed.
- _Conflicts each_: attempts of transactions that lost to others, per step or work.
- _Used up_: calls, from outside or by an action, whose five attempts all lost.
- _Calls_: function executions that Convex counts, per step or work, without the call from outside.
- _Documents_, _KB_: what is read per step or work, also by attempts that lost.
- _$_: what a million of them cost, at $${CALLS_DOLLARS} a million calls and $${GB_DOLLARS} a GB read. The time of actions is not in it.

With a pool of 50, chains cannot reach 225 steps a second here. A slot is busy for 241 to 261 ms per action of 200 ms, so the limit is about 190 to 207.

A deployment of class S16 is taken to have 8 places. There, two executors run 56 steps at once, and take two of them. If a self-hosted one has more, Stepwise does not know. With 32 places it made 230 to 232 steps a second in functions of their own, for 4.0 calls each.

Batches of 1,000 come 5 times a second where there are 50,000 works or more. At 10 a second for longer, Stepwise is refused 2% of them, and the peer none. With the entries of indexes, Stepwise writes 830 bytes for a work, and S256 takes 8 MiB a second.

## With limits

Stepwise only, on a pool of 50 unless a row says otherwise. [Limits](../docs/language.md#limits) hold for works of the pool and for steps of workflows alike.

| load | refused | too many | idle ms | wait ms | conflicts each | used up | calls | documents | of ends |
| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |
${Object.keys(LIMITED)
  .map((name) => limitedRow(answers, name, seeds))
  .join("\n")}

- _Too many_: starts at which more works ran than a limit says, or that a rate does not allow yet. They are checked at every commit. With \`collect\`, it counts runs beyond the one that there is to be.
- _Idle_: for how long at most a work could have started and did not, while a slot was free.
- _Wait_: how long 19 of 20 works waited at most: those of the small teams, those of the free key, or else all.
- _Of ends_: of the documents, those that the end of a work reads, which starts the next one. A work with two attempts ends twice.

Of the 300 at once, each enqueue loses once to the one that wakes the pool.

A work that gets a 429 has two attempts. Its conflicts come when the first of them holds the limit, which the others have read.

## Calls refused with shorter and longer mutations

This is Stepwise only, with the seed ${seeds[0] ?? 1}.

| load | mutations of 3-8 ms | mutations of 30-60 ms |
| --- | --- | --- |
${names
  .filter((name) => !isLong(name))
  .map((name) => refusedRow(answers, name, seeds[0] ?? 1))
  .join("\n")}

## Assumptions

\`@stepwise/testing\` simulates the deployment in virtual time. [The deployment model](../docs/deployment-model.md) lists the facts behind it.

- The class is S256 (${S256.scheduledAtOnce} scheduled functions and ${S256.mutationPermits} mutations at once). A row says so if it is S16 (${S16.scheduledAtOnce} and ${S16.mutationPermits}).
- Every action takes 200 ms.
- A mutation takes ${ms(S256.mutationMs)} from its start to its commit, a query ${ms(S256.queryMs)}. Others see a commit ${ms(S256.persistMs)} later.
- The scheduler starts what is due after ${ms(S256.roundMs)}. An action takes ${ms(S256.actionStartMs)} to start, and each of its calls ${S256.callMs} ms there and back.
- Before each load, one call of its kind runs to its end.

The model leaves out the time of a function's own code, isolates and their memory. It also leaves out caches of queries and subscriptions, the queue before the committer, and searches.
The peers' packages run unmodified, as Stepwise does.
`;
}
