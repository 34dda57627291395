import { type Row, table } from "./table.js";

export interface Tables {
  readonly steps: readonly Row[];
  readonly afterwards: readonly Row[];
  readonly works: readonly Row[];
}

/** What `results.md` says. The same on every machine: it holds no times and no dates. */
export function results(tables: Tables, peers: string): string {
  const { steps, afterwards, works } = tables;
  return `# What a step costs

Written by \`npm run bench\`. Each cell is ours / the peer's, which is ${peers}. Nothing here is a time that was taken: these are counts, so they
are the same on every machine.

## A step of a chain of N

${table(steps)}

A chain is a run of N steps, each of which takes the output of the one before it and adds one. What one step takes is what a run of N takes
beyond a run of one step, over N - 1; so what it takes to start and to end a run is not in it. A fused step has no executions of its own but
a nested one: a transaction runs up to 20 of them, so what is counted there is its share.

## After the end of a run

${table(afterwards)}

What the engine goes on to do when the run is complete, until nothing is scheduled any more. Runs that end shortly after each other may share it.

## A work in a pool

${table(works)}

Works are enqueued in one call, which is not counted, into a pool of 10 that has run before and come to rest; what is counted goes on until
nothing is scheduled any more, and is divided by the number of works. The peer runs a batch of actions that are there at once in one function
of its own, so that they share its executions and fail together; ours has each action report for itself.

## What is counted, and what is not

Both engines run on convex-test with the limits of a real deployment, counted by \`@stepwise/counting\` in the same way. _Root_ executions are
those entered by the scheduler or by a client, and those called by an action: what a deployment bills as a function call. _All_ has the
nested calls of components and transactions too. _Read_ and _written_ are documents, with those of reads whose transaction was rolled back.
The functions of the scenes touch no document, so all of it is the engine's own; values of a few bytes are all that goes from step to step.
The actions of some ms read the run's input besides, which in ours is a document.

Time is virtual: functions take none, unless they wait for a timer. _Wait_ is how much virtual time passes in the engine itself, per step.
Steps that end at once show none in either engine; the actions of some ms show what comes of looking for ended works at intervals.

Not counted, because convex-test has none of it: latency, processor time, memory, write conflicts and what is run again because of them,
cold starts, what subscriptions cause to be run, the rows of the scheduler itself. Nor what an engine does for failed or lost steps.
`;
}
