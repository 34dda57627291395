type Node = (name: string, before: string) => string;

/** One of each kind of node, as an app writes them; each reads the node before it. */
const kinds: readonly Node[] = [
  (name, before) => `.step("${name}", {
    action: async (_ctx, { input, ${before} }) => ({ id: input.id, isFirst: ${before} === null }),
    retry: true,
    timeout: "30s",
  })`,
  (name, before) => `.step("${name}", {
    mutation: async (_ctx, { ${before} }) => ({ isSaved: ${before} !== null }),
    compensate: { mutation: async (_ctx, { output, error }) => [output.isSaved, error.message] },
  })`,
  (name) => `.step("${name}", {
    action: internal.users.get,
    args: ({ input }) => ({ id: input.id }),
    recover: (error) => ({ failed: error.message }),
  })`,
  (name) => `.parent("${name}", {
    children: ({ input }) => [child(leaf, { n: 1 }), child(leaf, { n: input.id.length })],
    tolerate: { failures: 1 },
    finalize: { mutation: async (_ctx, { children }) => children.filter((one) => one.ok).length },
  })`,
  (name) => `.event("${name}", {
    anyOf: { yes: z.object({ by: z.string() }), no: z.object({ why: z.string() }) },
    timeout: "1d",
  })`,
  (name) => `.branch("${name}", {
    on: ({ input }) => (input.id === "" ? "none" : "some"),
    cases: {
      none: (b) => b,
      some: (b) =>
        b
          .step("first", { action: async (_ctx, { input }) => input.id })
          .step("second", { query: async (_ctx, { first }) => ({ first }) }),
    },
  })`,
  (name) => `.loop("${name}", {
    initial: ({ input }) => ({ left: input.id.length }),
    body: (b) =>
      b
        .step("first", { action: async (_ctx, { loop }) => loop.state.left })
        .step("second", { mutation: async (_ctx, { first }) => ({ left: first - 1 }) }),
    until: ({ loop }) => loop.state.left === 0,
    maxIterations: 9,
  })`,
  (name) => `.child("${name}", leaf, ({ input }) => ({ n: input.id.length }))`,
  (name) => `.parent("${name}", {
    action: async (_ctx, { input }) => input.id,
    children: ({ output }) => ({
      left: child(leaf, { n: output.length }),
      right: childNamed<string>("chain", { id: output }),
    }),
    reduce: { initial: "", step: (text, output) => \`\${text} \${output}\` },
  })
  .sleep("${name}Over", "10m")`,
];

/** The source of a workflow with so many nodes in a row, and a finalize. */
export function chainOf(nodes: number): string {
  const chained = Array.from({ length: nodes }, (_, n) =>
    kinds[n % kinds.length]?.(`node${n}`, n === 0 ? "input" : `node${n - 1}`),
  );
  // The first node would read the input twice.
  const first = chained.join("\n  ").replace("input, input", "input");
  return `import { z } from "zod";
import { child, childNamed, defineWorkflow } from "../../src/definition/index.js";
import { internal } from "./references.js";

const leaf = defineWorkflow({ input: z.object({ n: z.number() }) }).step("n", {
  action: async (_ctx, { input }) => input.n,
});
export const others = [leaf, childNamed, child, internal];
export const chain = defineWorkflow({
  input: z.object({ id: z.string() }),
  tags: ({ input }) => ({ id: input.id, risk: undefined }),
})
  ${first}
  .finalize({ mutation: async () => ({ isDone: true }) });
`;
}
