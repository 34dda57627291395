import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";

/** An app that is made for a measurement. */
export interface Project {
  /** The folder with its `package.json`. */
  readonly folder: string;
  readonly functionsDir: string;
  readonly workflows: number;
}

/** How many definition files share a folder. */
const perFolder = 25;

/**
 * Writes an app with a number of workflows, each in a file of its own, as an app of that size would
 * have them.
 */
export function writeProject(folder: string, workflows: number): Project {
  const functionsDir = join(folder, "convex");
  const write = (path: string, text: string) => {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), text);
  };
  write("package.json", '{ "private": true, "type": "module" }\n');
  for (let index = 0; index < workflows; index++)
    write(`convex/${definitionFile(index)}`, definition(index));
  return { folder, functionsDir, workflows };
}

/** The file of a workflow, relative to the functions folder. */
export function definitionFile(index: number): string {
  return `team${Math.floor(index / perFolder)}/${nameOf(index)}.workflow.ts`;
}

/** What the compiler makes of it, relative to the functions folder. */
export function generatedFile(index: number): string {
  return `_workflows/${nameOf(index)}.ts`;
}

/** The file of its plan, relative to the functions folder. */
export function planFile(index: number): string {
  return `_workflows/${nameOf(index)}.plan.json`;
}

/** What every third of them has besides. */
const waiting = `  .event("approval", { schema: z.object({ by: z.string() }), timeout: "2 days" })
  .branch("route", {
    on: ({ approval }) => (approval.timedOut ? "late" : "approved"),
    cases: {
      late: (b) => b.sleep("settle", "10m").step("remind", { mutation: async (_ctx, { input }) => input.title }),
      approved: (b) => b.step("thank", { action: async (_ctx, { approval }) => approval }),
    },
  })
  .loop("revise", {
    initial: ({ parts }) => ({ left: parts.count }),
    body: (b) =>
      b
        .step("pass", { action: internal.documents.revise, args: ({ loop }) => ({ left: loop.state.left }), retry: true })
        .step("next", { query: async (_ctx, { loop }) => ({ left: loop.state.left - 1 }) }),
    until: ({ loop }) => loop.state.left <= 0,
    maxIterations: 20,
  })
`;

const nameOf = (index: number): string => `document${String(index).padStart(4, "0")}`;

/**
 * The text of a definition file: one workflow of six nodes, or of nine with bodies, that has the
 * one before it as its child.
 *
 * @param edits how often it has been edited: each edit gives the second step another name
 */
export function definition(index: number, edits = 0): string {
  const other = nameOf(Math.max(0, index - 1));
  const step = edits === 0 ? "profile" : `profile${edits}`;
  const theImport =
    index === 0
      ? ""
      : `import { ${other} } from "${index % perFolder === 0 ? "../" : "./"}${
          index % perFolder === 0
            ? definitionFile(index - 1).replace(/\.ts$/, "")
            : `${other}.workflow`
        }";\n`;
  return `import { child, defineWorkflow } from "@stepwise/workflow";
import { z } from "zod";
import { internal } from "../_generated/api";
${theImport}
/** Takes a document apart, has its parts worked on, and keeps what comes of it. */
export const ${nameOf(index)} = defineWorkflow({
  input: z.object({
    title: z.string().min(1),
    storageId: z.string(),
    tags: z.array(z.object({ name: z.string(), weight: z.number() })),
  }),
  timeout: "1h",
})
  .step("outline", {
    action: internal.documents.outline,
    args: ({ input }) => ({ storageId: input.storageId, depth: ${(index % 5) + 1} }),
    retry: { maxAttempts: 5, initialBackoffMs: 250, base: 2 },
  })
  .step("${step}", {
    // Words and their weights, the heaviest first.
    action: async (_ctx, { input, outline }) => {
      const weights = new Map(input.tags.map(({ name, weight }) => [name, weight]));
      const words = outline.parts.flatMap((part) => part.words);
      return words
        .map((word) => ({ word, weight: weights.get(word) ?? 0 }))
        .filter(({ weight }) => weight > ${index % 7})
        .sort((a, b) => b.weight - a.weight);
    },
    timeout: "30s",
  })
  .parent("parts", {
    children: ({ input, outline }) =>
      outline.parts.map((part) =>
        child(${nameOf(Math.max(0, index - 1))}, { title: part.title, storageId: input.storageId, tags: [] }),
      ),
    concurrency: 8,
    finalize: { mutation: async (_ctx, { children }) => ({ count: children.length }) },
  })
  .step("record", {
    mutation: internal.documents.record,
    args: ({ input, parts }) => ({ title: input.title, count: parts.count }),
  })
${index % 3 === 0 ? waiting : ""}  .step("look", { query: async (_ctx, { record }) => record !== null })
  .finalize({
    mutation: async (_ctx, { input, ${step}, parts, look }) => {
      if (!look) throw new Error("nothing was recorded of " + input.title);
      return { title: input.title, words: ${step}.length, parts: parts.count };
    },
  });
`;
}
