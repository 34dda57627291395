import { expect, test } from "vitest";
import { compileSources } from "../../src/compile.js";

/** What is said of a branch with the cases x and y. */
async function said(on: string, rest = ""): Promise<string[]> {
  const text = `import { defineWorkflow } from "@stepwise/workflow";
import { z } from "zod";
type Key = "x" | "y";
${rest}
export const flow = defineWorkflow({ input: z.object({ key: z.string() }) })
  .branch("route", { on: ${on}, cases: { x: (b) => b, y: (b) => b } });`;
  const { diagnostics } = await compileSources([{ file: "flow.workflow.ts", text }]);
  return diagnostics.map(({ code, message }) => `${code} ${message.match(/"[^"]*"(?=, )/)?.[0]}`);
}

test.each<[what: string, on: string, rest?: string]>([
  ["a return type", `(): "x" | "y" => "y"`],
  ["that of a function with statements", `(): ("x" | "y") => { return "y"; }`],
  ["that of a method's like", `function (): "y" | ("x") { return "y"; }`],
  ["that of a function of the file", "pick", `function pick(): "x" | "y" { return "y"; }`],
  ["a return type, of what is computed", `({ input }): "x" | "y" => input.key`],
  ["an assertion", `() => "y" as "x" | "y"`],
  ["one in parentheses, of one of two", `({ input }) => (input.key ? "y" : ("y" as "x"))`],
  ["one of what is computed", `({ input }) => input.key as "x" | "y"`],
  ["one around two", `({ input }) => (input.key ? "y" : "y") as "y" | "x"`],
])(
  "[S124] a case that only the type gives is none that is never chosen: %s",
  { tags: ["large"] },
  async (_what, on, rest) => {
    expect(await said(on, rest)).toEqual([]);
  },
);

test.each<[what: string, on: string, rest?: string]>([
  ["of a name", `(): Key => "y"`],
  ["of a name among others", `(): "y" | Key => "y"`],
  ["an assertion of a name", `() => "y" as Key`],
  ["around the function", `(() => "y") as () => Key`],
  ["of a const that is the function", "pick", `const pick: () => Key = () => "y";`],
  ["around such a const's function", "pick", `const pick = (() => "y") as () => Key;`],
  ["of a const that is given", "() => KEY", `const KEY = "y" as Key;`],
  ["written at one", "() => KEY", `const KEY: Key = "y";`],
  ["of a const of a const", "() => KEY", `const OTHER = "y" as Key;\nconst KEY = OTHER;`],
])("[S124] nothing is said where a type is no plain union: %s", async (_what, on, rest) => {
  expect(await said(on, rest)).toEqual([]);
});

test.each<[what: string, on: string, rest?: string]>([
  ["no type", `() => "y"`],
  ["a return type without it", `(): "y" => "y"`],
  ["an assertion without it", `({ input }) => input.key as "y"`],
  ["a const assertion", `() => "y" as const`],
  ["that of a const", "() => KEY", `const KEY = "y" as const;`],
  ["a function that satisfies a type", `(() => "y") satisfies () => Key`],
  ["a key that satisfies one", `() => "y" satisfies Key`],
  ["a type of something else in it", `() => { const other = (): Key => "x"; return "y"; }`],
])("[S124] a case that neither gives is an error: %s", async (_what, on, rest) => {
  expect(await said(on, rest)).toEqual([`SW1111 "x"`]);
});

test("[S124] what the type gives needs a case, as what is returned does", async () => {
  expect(await said(`(): "x" | "y" | "z" => "y"`)).toEqual([`SW1112 "z"`]);
  expect(await said(`() => "y" as "x" | "y" | "z"`)).toEqual([`SW1112 "z"`]);
});
