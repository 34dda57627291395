import { expect, test } from "vitest";
import { messageOf, problemsOf } from "../../src/cli/run.js";
import { readEvents, readValue } from "../../src/cli/run-input.js";
import { compileSources } from "../../src/compile.js";

const head = `import { child, defineWorkflow } from "@stepwise/workflow";
import { z } from "zod";
`;
const sources = [
  { file: "good.workflow.ts", text: flow("good") },
  { file: "bad.workflow.ts", text: flow("bad", "maxAttempts: 0") },
  { file: "above.workflow.ts", text: above() },
];

function flow(name: string, retry = "maxAttempts: 2"): string {
  return `${head}export const ${name} = defineWorkflow({ input: z.object({}) })
  .step("work", { action: async () => 1, retry: { ${retry} } });
`;
}

function above(): string {
  return `${head}import { bad } from "./bad.workflow";
export const above = defineWorkflow({ input: z.object({}) })
  .parent("all", { children: () => [child(bad, {})] });
`;
}

test("a run tells what is wrong with its own workflow and those below, not with others", async () => {
  const compiled = await compileSources(sources);
  expect(compiled.ok).toBe(false);
  const told = (workflow: string, canRun: boolean) =>
    problemsOf(workflow, compiled, canRun).map(({ place }) => place.file);
  const runnable = compiled.sound?.plan.workflows.map(({ name }) => name);
  expect(runnable).toEqual(["good"]);
  expect(told("good", true)).toEqual([]);
  expect(told("bad", false)).toEqual(["bad.workflow.ts"]);
  expect(told("above", false)).toEqual(["bad.workflow.ts"]);
  // A name that there is not, or a workflow that others stop.
  expect(told("godo", false)).toEqual(["bad.workflow.ts"]);
  expect(told("good", false)).toEqual(["bad.workflow.ts"]);
});

test("a message that has that of its cause is told once", () => {
  const cause = new Error('The limit "tenant" takes no key');
  const error = new Error(`The limits of "charge" cannot be: ${cause.message}`, { cause });
  error.stack = cause.stack = "";
  expect(messageOf(error)).toBe(error.message);
  const other = new Error("It did not start", { cause });
  other.stack = "";
  expect(messageOf(other)).toBe(`It did not start\n${cause.message}`);
});

test("JSON that is no value of Convex is refused by the name of its option", async () => {
  for (const json of ['{ "$integer": 5 }', '{ "a": { "$bytes": "!" } }'])
    await expect(readValue(json, "--input")).rejects.toThrow("--input holds what is no value");
  const events = `[{ "name": "go", "value": { "$integer": 5 } }]`;
  await expect(readEvents(events, "order", { workflows: [] } as never)).rejects.toThrow(
    "--events holds what is no value",
  );
  // Convex would drop it.
  const cause = { message: "No field can be called __proto__" };
  const dropped = { message: "--input is not JSON.", cause };
  await expect(readValue('{ "a": { "__proto__": 1 } }', "--input")).rejects.toMatchObject(dropped);
});
