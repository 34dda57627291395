import { expect, test } from "vitest";
import { tooDeep } from "../src/analyze/depth.js";
import { Compiler, compileSources } from "../src/compile.js";

const head = `import { defineWorkflow } from "@stepwise/workflow";
import { z } from "zod";
export const flow = defineWorkflow({ input: z.object({}) })`;

const source = (nodes: string, file = "a.workflow.ts") => ({ file, text: `${head}${nodes};\n` });

const other = {
  file: "b.workflow.ts",
  text: `${head.replace("const flow", "const other")}.step("class", { query: () => 1 });\n`,
};

test("two thousand nodes in a chain compile", { tags: ["large"] }, async () => {
  const nodes = Array.from({ length: 2000 }, (_, at) => {
    const before = at === 0 ? "input" : `s${at - 1}`;
    return `.step("s${at}", { query: (_ctx, { ${before} }) => ({ ${before} }) })`;
  });
  const { diagnostics, files, plan } = await compileSources([source(nodes.join("\n  "))]);
  expect(diagnostics).toEqual([]);
  expect(plan.workflows[0]?.nodes).toHaveLength(2000);
  expect(plan.workflows[0]?.nodes.at(-1)?.stages[0]?.reads).toEqual(["s1998"]);
  expect(files.find(({ path }) => path.endsWith("/flow.ts"))?.text).toContain(
    'own.query("s1999", nodes.s1999.query)',
  );
});

const nested = (kind: "branch" | "loop" | "bracket", depth: number): string => {
  let inside = 'b.step("last", { query: () => 1 })';
  for (let at = 0; at < depth; at++) {
    inside =
      kind === "branch"
        ? `b.branch("n${at}", { on: () => "a" as const, cases: { a: (b) => ${inside} } })`
        : kind === "loop"
          ? `b.loop("n${at}", { initial: () => 0, body: (b) => ${inside}, until: () => true, maxIterations: 2 })`
          : `b.step("x", { query: () => [${inside}] })`;
  }
  return inside.slice(1);
};

test.each([
  ["200 branches", nested("branch", 200)],
  ["1,000 loops", nested("loop", 1000)],
  ["2,000 functions", nested("bracket", 2000)],
  ["an operation of 20,000 parts", `.sleep("s", ${Array(20_000).fill("1").join(" + ")})`],
  ["5,000 brackets", `.step("s", { query: () => ${"[".repeat(5000)}${"]".repeat(5000)} })`],
])(
  "%s in one another are compiled, or one problem at a place; the other files are checked",
  { tags: ["large"] },
  async (_what, nodes) => {
    const { diagnostics } = await compileSources([source(nodes), other]);
    const [first, second] = [
      ...new Set(diagnostics.map(({ place, code }) => `${place.file} ${code}`)),
    ];
    expect([first, second ?? first]).toContain("b.workflow.ts SW1004");
    if (second !== undefined) expect(first).toMatch(/^a\.workflow\.ts SW(1901|1005)$/);
    expect(diagnostics.every(({ place }) => place.line > 0)).toBe(true);
  },
);

const chain = `z.string()\n${".min(1)".repeat(3_000)}`;

test.each([
  ["input", `export const flow = defineWorkflow({ input: ${chain} }).sleep("class", 1);`],
  ["const", `const held = ${chain};\n${head.split("\n")[2]?.replace("z.object({})", "held")};`],
  ["option", `${head.split("\n")[2]}.step("s", { timeout: ${chain}, query: () => 1 });`],
])(
  "three thousand calls in a chain are one line at their place: %s",
  { tags: ["large"] },
  async (_what, text) => {
    const imports = head.split("\n").slice(0, 2).join("\n");
    const { diagnostics } = await compileSources([
      { file: "a.workflow.ts", text: `${imports}\n\n${text}\n` },
      other,
    ]);
    expect(diagnostics.map(({ place, code }) => `${place.file}:${place.line} ${code}`)).toEqual([
      "a.workflow.ts:5 SW1901",
      "b.workflow.ts:3 SW1004",
    ]);
  },
);

test("three thousand calls in another file are one line there", { tags: ["large"] }, async () => {
  const text = `${head.replace("z.object({})", "held").replace("\n", '\nimport { held } from "./lib";\n')}.sleep("s", 1);`;
  const lib = `import { z } from "zod";\nexport const held = ${chain};\n`;
  const read = (file: string) => (file === "lib.ts" ? lib : undefined);
  const found = await new Compiler().compileSources([{ file: "a.workflow.ts", text }], read);
  const told = found.diagnostics.map(({ place, code }) => `${place.file}:${place.line} ${code}`);
  expect(told).toEqual(["lib.ts:3 SW1901"]);
});

test.each<[what: string, text: string]>([
  ["in brackets", `go((${Array(3000).fill("0").join(", ")}));`],
  ["of a block", `() => { ${Array(3000).fill("run()").join(", ")}; };`],
  ["that is returned", `return (${Array(3000).fill("a.b").join(", ")});`],
])("a chain of comma operators is as deep as it is long: %s", (_what, text) => {
  const list = `[${Array(5000).fill("a[0] + 1").join(", ")}];\n`;
  const options = `go({ ${Array(5000).fill("a: 1").join(", ")} }, ${Array(5000).fill("b").join(", ")});\n`;
  const names = `let ${Array(5000).fill("c = 1").join(", ")};\n`;
  const file = {
    file: "a.ts",
    text: `${list}${options}${names}${text}\n${names}${options}${list}`,
  };
  expect(tooDeep(file).place.line).toBe(4);
});
