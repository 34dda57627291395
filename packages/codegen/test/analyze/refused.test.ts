import { expect, test } from "vitest";
import { compileSources } from "../../src/compile.js";

const head = `import { defineWorkflow } from "@stepwise/workflow";
import { z } from "zod";
const input = z.object({});
`;

/** The codes of what is found in a definition, and in a sound one beside it. */
async function codesOf(definition: string) {
  const beside = `export const beside = defineWorkflow({ input }).step("class", { query: () => 1 });`;
  const sources = [{ file: "a.workflow.ts", text: `${head}${definition}\n${beside}\n` }];
  const { diagnostics } = await compileSources(sources);
  return diagnostics.map(({ code }) => code).sort();
}

const wrong = '.step("return", { retry: 0, query: (ctx, { no }) => no, on: 1 })';

test.each([
  [
    "its chain goes on by a computed name",
    `export const flow = defineWorkflow({ input })${wrong}["sleep"]("x", 1);`,
    "SW1101",
  ],
  [
    "its chain goes on elsewhere",
    `export const flow = defineWorkflow({ input })${wrong};\nexport const more = flow.sleep("x", 1);`,
    "SW1101",
  ],
  ["it is not exported", `const flow = defineWorkflow({ input })${wrong};`, "SW1102"],
  [
    "it is exported twice",
    `export const flow = defineWorkflow({ input })${wrong};\nexport { flow as other };`,
    "SW1102",
  ],
  ["it can change", `export let flow = defineWorkflow({ input })${wrong};`, "SW1101"],
])(
  "a definition that is refused, as %s, is read for its other errors",
  async (_why, text, code) => {
    const known = await codesOf(text);
    expect(known).toContain(code);
    const isCutShort = code === "SW1101" && !text.includes("let");
    const others = [
      "SW1004",
      "SW1004",
      "SW1211",
      "SW1212",
      "SW1212",
      ...(isCutShort ? [] : ["SW1301"]),
    ];
    expect(known.filter((each) => each !== code)).toEqual(others);
  },
);
