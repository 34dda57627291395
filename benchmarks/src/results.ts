import { type Row, table } from "./table.js";

export interface Tables {
  readonly steps: readonly Row[];
  readonly wholes: readonly Row[];
  readonly nodes: readonly Row[];
  readonly afterwards: readonly Row[];
  readonly works: readonly Row[];
  readonly stretches: readonly Row[];
}

/** What `results.md` says. The same on every machine: it holds no times and no dates. */
export function results(tables: Tables, peers: string): string {
  const { steps, wholes, nodes, afterwards, works, stretches } = tables;
  return `# What a step costs

Written by \`npm run bench\`. Each cell is Stepwise / the peer, which is ${peers}. These are counts, not times, so they are
the same on every machine.

## A step of a chain of N

${table(steps)}

A chain is a run of N steps. Each step adds one to the output of the step before it. One step costs the difference between a run of N steps
and a run of one step, divided by N - 1. So it excludes the cost of starting and ending a run. A transaction runs up to 20
fused steps, and each of them counts its share.

## A run of one step, from its start to its end

${table(wholes)}

Another run of the same kind ends before the count begins, because the very first run also writes the engine's own documents. The count
stops when the run is complete. The table "After the end of a run" has the rest.

## Other nodes

${table(nodes)}

A row has the cost of a run with N nodes minus the cost of a run with one, divided by N - 1. A child, a branch and an item have a
single action each, if the row says nothing else. The peer's queries there are \`inline\`. Stepwise starts it as a run of its own; the peer runs it as a step of the same run, by \`Promise.all\` or \`Promise.race\`. The case that wins a race ends at once, the others would take a second; Stepwise cancels them. A client sends the event a few seconds after the run begins to wait, and that call is counted. The row
of 50 runs at once has the cost of runs of 10 actions minus the cost of runs of one, for each action.

## After the end of a run

${table(afterwards)}

This is what the engine does after the run is complete, until nothing is scheduled any more. Runs that end at about the same time can share it.

## A work in a pool

${table(works)}

One call enqueues all works, into a pool that has run one work before and was idle for a minute. The root executions exclude that call; the
other columns include what the pool does in it. The count goes on until nothing is scheduled any more, and is divided by the number of works.

- _To its end_ has the root executions until the last work ended. After that, Stepwise's watchdog runs once more for all works that ended before
  it. A single work includes that check in its end, at most once a minute.
- _Wait_ is the virtual time, in ms, for which a slot was free while a work was due.
- The peer runs a batch of actions in one function, so they share its executions and fail together. Actions of Stepwise report one by one.
- The peer has no works that settle themselves, so the table compares those of Stepwise with its actions.
- A retry and a delayed start show the cost beyond an action that starts at once and succeeds. A retry includes its second attempt. Its random
  backoff comes from a fixed seed.

## A pool over a stretch of time

${table(stretches)}

A row has everything in that time, not divided, without the calls that enqueue. In a saturated pool, actions of 9 minutes hold all slots, and N works
are enqueued meanwhile, one every 15 s. A paused pool gets the same works. The hours begin after the last of N actions has ended, all of them
enqueued at once into a pool of 10.

## What the counts include

Both engines run on convex-test with the limits of a real deployment. \`@stepwise/testing\` counts both in the same way.

- _Root_ executions are functions that the scheduler, a client or an action calls. A deployment bills them as function calls.
- _All_ also has the nested calls of components and transactions.
- _Read_ and _written_ are documents, including reads of transactions that were rolled back. The functions of the scenes touch no documents, and
  pass values of a few bytes. Actions that take time also read the run's input, which is a document in Stepwise.
- _Wait_ is the virtual time that passes in the engine itself, per step. Functions take no time unless they wait for a timer. Actions that take
  time show what it costs to look for ended works at intervals.

These counts leave out what convex-test does not have. That is latency, processor time, memory, write conflicts and their repetitions, and cold starts. It is also queries that subscriptions run again, and the scheduler's own rows. Failed and lost steps are left out, too.
`;
}
