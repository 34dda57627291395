import { Deployment, type Faults, S16 } from "@stepwise/testing";
import { expect, test, vi } from "vitest";
import { modules as component, schema as componentSchema } from "../src/test.js";
import schema from "./convex/schema.js";

vi.spyOn(console, "error").mockImplementation(() => {});

const modules = import.meta.glob(["./convex/**/*.{ts,js}", "!./convex/**/*.*.ts"]);
const parts = [
  { path: "", schema, modules },
  { path: "workflow", schema: componentSchema, modules: component },
];

interface Row {
  readonly workflow: string;
  readonly state: string;
}

/** Starts a fan-out, and refuses all that is not the system's from its first action's begin on. */
async function refusing(why: ReturnType<NonNullable<Faults["refuses"]>>, ms: number) {
  let isRefused = false;
  const faults: Faults = { refuses: () => (isRefused ? why : undefined) };
  const deployment = await Deployment.of(parts, { class: S16, faults });
  const leaves = Array.from({ length: 6 }, (_, n) => ({ n, ms: 100 }));
  deployment.at(0, () => deployment.mutation("runs:start", { name: "list", input: { leaves } }));
  const stop = deployment.onHappening((event) => {
    if (event.what !== "began") return;
    stop();
    isRefused = true;
    deployment.at(ms, () => (isRefused = false));
  });
  await deployment.drive();
  return {
    states: deployment.rows<Row>("workflow", "runs").map(({ state }) => state),
    attempts: deployment
      .rows<{ attempt: number }>("workflow", "steps")
      .map(({ attempt }) => attempt),
  };
}

test.each([
  ["TooManyWrites", 5_000],
  ["TooManyWrites", 180_000],
  ["TooManyConcurrentRequests", 180_000],
] as const)("[S132] %s for %i ms: no finished step is lost", async (why, ms) => {
  const { states, attempts } = await refusing(why, ms);
  expect(states).toEqual(Array.from({ length: 7 }, () => "completed"));
  expect(Math.max(...attempts)).toBe(1);
});
