import { expect, test } from "vitest";
import { placeOfDefine } from "../src/discover/discover.js";
import { nodeDirective } from "../src/analyze/node-directive.js";
import { Compiler } from "../src/compile.js";
import { workflowPlanText } from "../src/emit/index-file.js";

/** What takes longer than this grew faster than its text. */
const atOnceMs = 1_000;

/** Processor time of this process, in ms: on a busy machine it is the same. */
function spentMs(since: NodeJS.CpuUsage): number {
  const { user, system } = process.cpuUsage(since);
  return (user + system) / 1_000;
}

function timed(act: () => unknown): number {
  const before = process.cpuUsage();
  act();
  return spentMs(before);
}

test.each([
  ["block comments at the top of a module", () => nodeDirective("/* a */ ".repeat(20_000) + "x")],
  [
    "imports that do not end",
    () =>
      placeOfDefine(`import ${"{ defineWorkflow ".repeat(1_000)}`) ?? placeOfDefine("import {{{{"),
  ],
  ["braces after an import", () => placeOfDefine(`import ${"{".repeat(10_000)}`)],
  [
    "a list of values with an object at its end",
    () =>
      workflowPlanText(
        { generatedBy: "", version: 1 } as never,
        { list: [...Array.from({ length: 40 }, (_, index) => index), { a: 1 }] } as never,
        undefined,
      ),
  ],
])("%s are read at once", (_what, act) => {
  expect(timed(act)).toBeLessThan(atOnceMs);
});

const LEVELS = 26;
const each = (level: (now: string, before: string) => string) =>
  Array.from({ length: LEVELS }, (_, at) => level(`x${at + 1}`, `x${at}`)).join("\n");
const LAST = `x${LEVELS}`;

test.each<[what: string, first: string, levels: string, input: string, node: string]>([
  [
    "options that are spread twice",
    "const x0 = { query: () => 1 };",
    each((now, x) => `const ${now} = { ...${x}, ...${x} };`),
    "z.object({})",
    `.step("a", ${LAST}).step("b", { ...${LAST} })`,
  ],
  [
    "options of functions",
    "const x0 = () => ({ query: () => 1 });",
    each((now, x) => `const ${now} = () => ({ ...${x}(), ...${x}() });`),
    "z.object({})",
    `.step("a", ${LAST}())`,
  ],
  [
    "options on a condition",
    "const x0 = { query: () => 1 };",
    each((now, x) => `const ${now} = Math.random() > 0.5 ? ${x} : { ...${x} };`),
    "z.object({})",
    `.step("a", ${LAST})`,
  ],
  [
    "numbers",
    "const x0 = 2;",
    each((now, x) => `const ${now} = ${x} + ${x};`),
    "z.object({})",
    `.sleep("a", ${LAST})`,
  ],
  [
    "texts",
    'const x0 = "aa";',
    each((now, x) => `const ${now} = \`\${${x}}\${${x}}\`;`),
    "z.object({})",
    `.step("a", { query: () => 1, retry: { maxAttempts: ${LAST} } })`,
  ],
  [
    "objects of schemas",
    "const x0 = z.object({ a: z.string() });",
    each((now, x) => `const ${now} = ${x}.merge(${x}).extend(${x}.shape);`),
    LAST,
    "",
  ],
  [
    "fields of schemas",
    "const x0 = { a: z.string() };",
    each((now, x) => `const ${now} = { ...${x}, ...${x} };`),
    `z.object(${LAST})`,
    "",
  ],
  [
    "unions",
    "const x0 = z.object({ a: z.string() });",
    each((now, x) => `const ${now} = z.union([${x}, ${x}]);`),
    LAST,
    "",
  ],
  [
    "fields that are unions",
    "const x0 = z.string();",
    each((now, x) => `const ${now} = z.union([${x}, ${x}]);`),
    `z.object({ a: ${LAST} })`,
    "",
  ],
])(
  "consts that use the one before several times are read at once: %s",
  async (_what, first, levels, input, node) => {
    const compiled = async (more: string, input: string, node: string) => {
      const text = `import { defineWorkflow } from "@stepwise/workflow";
import { z } from "zod";
${more}
export const flow = defineWorkflow({ input: ${input} })${node}.step("last", { query: () => 1 });`;
      const before = process.cpuUsage();
      const { plan } = await new Compiler().compileSources([{ file: "a.workflow.ts", text }]);
      expect(plan.workflows).toHaveLength(1);
      return spentMs(before);
    };
    // What is loaded for the first one does not count.
    await compiled("", "z.object({})", "");
    expect(await compiled(`${first}\n${levels}`, input, node)).toBeLessThan(atOnceMs);
  },
);

/** Processor ms to compile a workflow with so many helpers beside it: in its own file, and in another one. */
async function withHelpers(count: number): Promise<number> {
  const helpers = Array.from(
    { length: count },
    (_, at) => `export const helper${at} = (x: number): number => x + ${at};
function inner${at}(x: number) { return helper${at}(x); }
const held${at} = { most: ${at} };`,
  ).join("\n");
  const text = `import { defineWorkflow } from "@stepwise/workflow";
import { z } from "zod";
import { schema } from "./schemas";
${helpers}
export const flow = defineWorkflow({ input: schema })
  .step("a", { action: (_ctx, { input }) => helper1(input.n), retry: { maxAttempts: held1.most } })
  .step("b", { query: inner2 });
`;
  const schemas = `import { z } from "zod";\n${helpers}\nexport const schema = z.object({ n: z.number() });\n`;
  const before = process.cpuUsage();
  const { plan } = await new Compiler().compileSources([{ file: "a.workflow.ts", text }], (file) =>
    file === "schemas.ts" ? schemas : undefined,
  );
  expect(plan.workflows[0]?.nodes).toHaveLength(2);
  return spentMs(before);
}

test(
  "helpers beside a workflow take as long as it takes to parse them",
  { tags: ["large"] },
  async () => {
    await withHelpers(500);
    const [few, many] = [await withHelpers(1_000), await withHelpers(16_000)];
    // Looking at all of them for each of them would take 256 times as long.
    expect(many / few).toBeLessThan(80);
  },
);
