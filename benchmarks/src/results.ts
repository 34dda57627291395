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

Written by \`npm run bench\`. Each cell is ours / the peer's, which is ${peers}. Nothing here is a time that was taken: these are counts, so they
are the same on every machine.

## A step of a chain of N

${table(steps)}

A chain is a run of N steps, each of which takes the output of the one before it and adds one. What one step takes is what a run of N takes
beyond a run of one step, over N - 1; so what it takes to start and to end a run is not in it. A fused step has no executions of its own but
a nested one: a transaction runs up to 20 of them, so what is counted there is its share.

## A run of one step, from its start to its end

${table(wholes)}

On a back end on which such a run has come to rest before: the first one of all writes what an engine needs for itself besides. The run is
complete where this ends; what the engine goes on to do then is further below.

## Other nodes

${table(nodes)}

What a run with N of them takes beyond a run with one, over N - 1. A child has a single action, which ours starts as a run of its own, and
the peer as one of the steps of the same run. An event is sent by a client, whose call is counted, some seconds after the run has begun to wait for it. Of 50
runs at once it is what runs of 10 actions take beyond runs of one, for each action.

## After the end of a run

${table(afterwards)}

What the engine goes on to do when the run is complete, until nothing is scheduled any more. Runs that end shortly after each other may share it.

## A work in a pool

${table(works)}

Works are enqueued in one call, into a pool that has run one such work before, and has been at rest for a minute. That call is not counted, but
what the pool does within it is, in all columns but those of root executions. What is counted goes on until nothing is scheduled any more, so with
whatever an engine takes to come to rest, and is divided by the number of works; _to its end_ has the root executions until the last work
had ended. The difference, in ours, is one last look of its watchdog, shared by all works that end before it; a work that is alone takes that
look along as it ends, once a minute at most. _Wait_ is how many virtual ms a slot was free for a work that was due. The peer runs a batch of actions that are there at once in one
function of its own, so that they share its executions and fail together; ours has each action report for itself. The peer has no works that
settle themselves, so beside ours stand its actions. A retry and a delayed start are what such a work takes beyond an action that starts at
once and succeeds; a retry has the executions of its second attempt among them, and its backoff, by default random, is drawn from a fixed seed here.

## A pool over a stretch of time

${table(stretches)}

All that is done in that time, not divided; calls that enqueue are left out as above. In a saturated pool all slots are taken by actions of 9 minutes
that have begun before, and N works are enqueued meanwhile, one each 15 s; so too in a paused one. The hours begin when the last of N actions
that were enqueued at once, in a pool of 10, has ended.

## What is counted, and what is not

Both engines run on convex-test with the limits of a real deployment, counted by \`@stepwise/testing\` in the same way. _Root_ executions are
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
