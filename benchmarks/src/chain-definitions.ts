/** What a step counts on from: the name under which its scope has it, and the expression. */
interface Previous {
  readonly name: string;
  readonly value: string;
}

/** The options of a step that takes the result of the one before it, and counts on. */
const STEPS = {
  inlineAction: ({ name, value }) => `action: async (_ctx, { ${name} }) => ${value} + 1`,
  referencedAction: ({ name, value }) =>
    `action: internal.steps.act, args: ({ ${name} }) => ({ n: ${value} })`,
  busyAction: ({ name, value }) =>
    `action: internal.steps.actFor, args: ({ ${name === "input" ? name : `input, ${name}`} }) => ({ n: ${value}, ms: input.ms })`,
  /** Each step fails once. */
  failingAction: ({ name, value }) =>
    `action: async (_ctx, { ${name} }, { attempt }) => { if (attempt === 1) throw new Error("once"); return ${value} + 1; }, ` +
    "retry: { maxAttempts: 2, initialBackoffMs: 100, base: 2 }",
  mutation: ({ name, value }) => `mutation: async (_ctx, { ${name} }) => ${value} + 1`,
  isolatedMutation: ({ name, value }) =>
    `mutation: async (_ctx, { ${name} }) => ${value} + 1, isolate: true`,
  query: ({ name, value }) => `query: async (_ctx, { ${name} }) => ${value} + 1`,
} satisfies Record<string, (previous: Previous) => string>;

export interface Chain {
  readonly kind: keyof typeof STEPS;
  readonly length: number;
}

/** The text of a definition file with a workflow `<kind><length>` for each chain. */
export function chainDefinitions(chains: readonly Chain[]): string {
  return [
    'import { defineWorkflow } from "@stepwise/workflow";',
    'import { z } from "zod";',
    'import { internal } from "./_generated/api";',
    ...chains.map(definition),
  ].join("\n");
}

function definition({ kind, length }: Chain): string {
  const steps = Array.from({ length }, (_, i) => {
    const first = { name: "input", value: "input.n" };
    const previous = i === 0 ? first : { name: `s${i}`, value: `s${i}` };
    return `  .step("s${i + 1}", { ${STEPS[kind](previous)} })`;
  });
  return [
    `export const ${kind}${length} = defineWorkflow({ input: z.object({ n: z.number(), ms: z.number() }) })`,
    ...steps,
  ].join("\n");
}
