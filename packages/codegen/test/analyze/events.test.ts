import { expect, test } from "vitest";
import { Compiler } from "../../src/compile.js";
import { eventsOf } from "../../src/plan/events.js";

const head = `import { defineWorkflow } from "@stepwise/workflow";
import { z } from "zod";
import { others } from "./others";
const kept = { a: z.string(), b: z.number() };
const changed = { a: z.string() };
changed.b = z.number();
`;

test.each([
  ["spreads", "{ ...kept, 'c.d': z.null() }", ["a", "b", "c.d"]],
  ["a const", "kept", ["a", "b"]],
  ["a spread of what changes", "{ ...changed, c: z.null() }", undefined],
  ["a spread of another file", "{ ...others, c: z.null() }", undefined],
  ["a spread of a call", "{ c: z.null(), ...kept.shape() }", undefined],
  ["a condition", "{ ...(Math.random() > 2 ? kept : {}) }", undefined],
])(
  "the events of an anyOf are known if nothing can change them: %s",
  async (_what, anyOf, names) => {
    const text = `${head}export const flow = defineWorkflow({ input: z.null() }).event("e", { anyOf: ${anyOf} });`;
    const files: Record<string, string> = { "others.ts": "export const others = { a: 1 };" };
    const sources = [{ file: "a.workflow.ts", text }];
    const { diagnostics, plan } = await new Compiler().compileSources(
      sources,
      (file) => files[file],
    );
    expect(diagnostics).toEqual([]);
    const [flow] = plan.workflows;
    expect(flow && eventsOf(flow)?.map(({ name }) => name)).toEqual(names);
  },
);
