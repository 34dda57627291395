import { Deployment } from "@stepwise/testing";
import { internalMutationGeneric, internalQueryGeneric } from "convex/server";
import { expect, test } from "vitest";
import { lookBelow } from "../src/component/core/descendants.js";
import { removeOldIterations } from "../src/component/features/iterations.js";
import { modules, schema } from "../src/test.js";
import type { Doc, Id, TableNames } from "./component.js";

/* Transactions of one moment, or a clock that was put back, give documents one creation time. */

const app = {
  path: "",
  schema,
  modules: {
    ...modules,
    "./component/moments.ts": async () => ({
      below: internalQueryGeneric(async (ctx, { parent }: any) =>
        lookBelow(ctx, parent, { from: 0, way: [] }),
      ),
      iterate: internalMutationGeneric(async (ctx, { loop }: any) => {
        const step = await ctx.db.get(loop);
        await removeOldIterations(ctx, { ...step, before: 199, iteration: 300, isOver: false });
      }),
    }),
  },
};

/** @returns what puts a document into a table, at the same moment as all others. */
const planter =
  (deployment: Deployment) =>
  <Table extends TableNames>(table: Table, fields: Partial<Doc<Table>>) =>
    deployment.plant("", table, fields) as Id<Table>;

const run = {
  workflow: "tree",
  state: "completed",
  entry: "tree",
  index: 0,
  startedAt: 0,
} as const;

test("[S105] one of two runs of one moment has not ended: what is above them stays", async () => {
  const deployment = await Deployment.of([app]);
  const plant = planter(deployment);
  const top = plant("runs", run);
  const parent = plant("steps", {
    run: top,
    stage: "all",
    kind: "parent",
    state: "completed",
  } as never);
  const child = plant("runs", { ...run, parentRun: top, parentStep: parent, endedAt: 1 });
  plant("runs", { ...run, parentRun: child, endedAt: 1 });
  expect(await deployment.look("moments:below", { parent })).toBe("over");
  plant("runs", { ...run, parentRun: child, state: "running" });
  expect(await deployment.look("moments:below", { parent })).toBe("goes on");
});

test("[S80] an iteration stays that can be undone, also if its record is not the first of its moment", async () => {
  const deployment = await Deployment.of([app]);
  const plant = planter(deployment);
  const top = plant("runs", { ...run, state: "running" });
  const step = { run: top, kind: "mutation", state: "completed", endedAt: 1 };
  const loop = plant("steps", {
    run: top,
    stage: "loop",
    kind: "loop",
    state: "waiting",
    iteration: 300,
  } as never);
  const at = (iteration: number, stage: string, more = {}) =>
    plant("steps", { ...step, stage, iterations: [iteration], ...more } as never);
  // Of another loop, in an iteration of the same number: of one moment the id decides the order.
  for (let n = 0; n < 8; n++) at(5, `other.pay${n}`, { permanent: true });
  const paid = at(5, "loop.pay", { permanent: true });
  const kept = at(5, "loop.note");
  const removed = at(6, "loop.note");
  const call = deployment.mutation("moments:iterate", { loop });
  await deployment.advance(5_000);
  await call;
  const left = deployment.rows<Doc<"steps">>("", "steps").map(({ _id }) => _id);
  expect(left).toEqual(expect.arrayContaining([loop, paid, kept]));
  expect(left).not.toContain(removed);
});

test("[S155] a node that looks through what is kept passes over none of one moment, and sees none twice", async () => {
  const deployment = await Deployment.of([app]);
  const plant = planter(deployment);
  const id = plant("runs", { ...run, state: "running" });
  const sent = [];
  for (const takenAt of [7, 7, undefined, undefined, undefined, 9])
    for (let count = 0; count < 30; count++)
      for (const name of ["one", "two"])
        sent.push(plant("inbox", { run: id, name, value: null, ...(takenAt && { takenAt }) }));
  const seen: { id: string; takenAt?: number }[] = [];
  let after: object | undefined;
  do {
    const of = { run: id, names: ["one", "two"], stage: "told", after };
    const page = (await deployment.look("events:look", of)) as {
      events: typeof seen;
      after?: object;
    };
    seen.push(...page.events);
    after = page.after;
  } while (after !== undefined && seen.length <= sent.length);
  expect(seen.map((event) => event.id).toSorted()).toEqual(sent.toSorted());
  const times = seen.map(({ takenAt = Infinity }) => takenAt);
  expect(times).toEqual(times.toSorted((one, other) => one - other));
});
