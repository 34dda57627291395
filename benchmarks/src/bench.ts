import { writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";
import { installTimers } from "@stepwise/testing";
import { loadOurs, loadPeer } from "./apps.js";
import { Measurement } from "./measure.js";
import { PoolMeasurement } from "./measure-pool.js";
import { stretchRows, workRows } from "./pool-rows.js";
import { results } from "./results.js";
import { AFTERWARDS_SCENES, CHAIN_SCENES, CROWD, SHAPE_SCENES, type ChainScene } from "./scenes.js";
import { type Row, table } from "./table.js";

// What is measured prints to the console now and then: events, and the errors that retries follow.
// The tables do not go that way, nor do errors of the bench itself.
const print = (text: string) => process.stdout.write(`${text}\n`);
for (const method of ["log", "info", "debug", "warn", "error"] as const) console[method] = () => {};

const chains = CHAIN_SCENES.flatMap(({ ours, lengths }) =>
  [1, ...lengths].map((length) => ({ kind: ours, length })),
);
const shapes = SHAPE_SCENES.flatMap(({ ours, n }) =>
  [1, n].map((length) => ({ kind: ours, length })),
);
const [ours, peer] = [await loadOurs(unique([...chains, ...shapes])), await loadPeer()];

// Only now, because until here time is real; and always from the same moment, so that results are
// the same.
const timers = installTimers({ now: Date.UTC(2030, 0) });
// And with the same chance: how long a retry waits is random, and what looks for it at intervals
// may take one sweep more or less.
Math.random = seeded(1);
const measured = { ours: new Measurement(ours, timers), peer: new Measurement(peer, timers) };

const steps: Row[] = [];
for (const scene of CHAIN_SCENES)
  for (const length of scene.lengths) steps.push(await stepRow(scene, length));
const wholes: Row[] = [];
for (const { title, ours, peer, ms } of CHAIN_SCENES)
  wholes.push({
    title,
    n: 1,
    ours: await measured.ours.whole(ours, ms),
    peer: await measured.peer.whole(peer, ms),
  });
const nodes: Row[] = [];
for (const { title, ours, peer, n, ms, sends } of SHAPE_SCENES)
  nodes.push({
    title,
    n,
    ours: await measured.ours.shape(ours, n, ms, sends),
    peer: await measured.peer.shape(peer, n, ms, sends),
  });
nodes.push({
  title: `an action in one of ${CROWD.runs} runs of N at once`,
  n: CROWD.length,
  ours: await measured.ours.crowd(CROWD.ours, CROWD.length, CROWD.runs),
  peer: await measured.peer.crowd(CROWD.peer, CROWD.length, CROWD.runs),
});
const afterwards: Row[] = [];
for (const { title, ours, peer, n } of AFTERWARDS_SCENES)
  afterwards.push({
    title,
    n,
    ours: await measured.ours.afterwards(ours, n),
    peer: await measured.peer.afterwards(peer, n),
  });
const pools = { ours: new PoolMeasurement(ours, timers), peer: new PoolMeasurement(peer, timers) };
const poolTables = { works: await workRows(pools), stretches: await stretchRows(pools) };
timers.uninstall();

const peers = ["@convex-dev/workflow", "@convex-dev/workpool"].map(withVersion).join(" on ");
const file = fileURLToPath(new URL("../results.md", import.meta.url));
await writeFile(file, results({ steps, wholes, nodes, afterwards, ...poolTables }, peers));
print(`Each cell: ours / ${peers}. What is counted, and how: benchmarks/results.md`);
print(`\nA step of a chain of N\n${table(steps)}`);
print(`\nA run of one step, from its start to its end\n${table(wholes)}`);
print(`\nOther nodes\n${table(nodes)}`);
print(`\nAfter the end of a run\n${table(afterwards)}`);
print(`\nA work in a pool\n${table(poolTables.works)}`);
print(`\nA pool over a stretch of time, in all\n${table(poolTables.stretches)}`);

async function stepRow({ title, ours, peer, ms }: ChainScene, n: number): Promise<Row> {
  return {
    title,
    n,
    ours: await measured.ours.step(ours, n, ms),
    peer: await measured.peer.step(peer, n, ms),
  };
}

/** A chain that several scenes have is compiled once. */
function unique<Each>(all: Each[]): Each[] {
  return [...new Map(all.map((each) => [JSON.stringify(each), each])).values()];
}

function withVersion(name: string): string {
  const { version } = createRequire(import.meta.url)(`${name}/package.json`) as { version: string };
  return `${name} ${version}`;
}

/** Numbers from 0 to 1 that look random, and are the same each time (mulberry32). */
function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let bits = Math.imul(state ^ (state >>> 15), state | 1);
    bits ^= bits + Math.imul(bits ^ (bits >>> 7), bits | 61);
    return ((bits ^ (bits >>> 14)) >>> 0) / 2 ** 32;
  };
}
