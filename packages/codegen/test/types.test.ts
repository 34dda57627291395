import { cp, mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { rm } from "../../../scripts/folders.mjs";
import { compileSources } from "../src/compile.js";
import { writeCircle } from "./circle.js";
import { filesIn, fixtures, foldersIn } from "./golden.js";
import { scratchFolder, typeErrors, writeGeneratedTypes } from "./type-check.js";

const features = (await foldersIn(fixtures)).filter((name) => name !== "errors");

test(
  "generated files and what uses them have no type errors, but where a childNamed<Output> is wrong",
  { tags: ["large"] },
  async () => {
    const scratch = scratchFolder("fixtures");
    await rm(scratch, { recursive: true, force: true });
    for (const feature of features) {
      const folder = join(scratch, feature);
      await cp(join(fixtures, feature, "convex"), folder, { recursive: true });
      await cp(join(fixtures, feature, "expected"), folder, { recursive: true });
      await writeWrittenOut(folder);
      await writeGeneratedTypes(folder);
    }
    const { files } = await compileSources([{ file: "a.workflow.ts", text: declared }]);
    const folder = join(scratch, "declared");
    for (const { path, text } of [...files, { path: "a.workflow.ts", text: declared }]) {
      await mkdir(dirname(join(folder, path)), { recursive: true });
      await writeFile(join(folder, path), text);
    }
    await writeGeneratedTypes(folder);
    const errors = await typeErrors(scratch);
    const named = "a `childNamed<Output>` with the output of the workflow that it names";
    expect(errors.filter(({ message }) => !message.includes(named))).toEqual([]);
    expect(errors.map(({ file }) => file)).toEqual(
      ["inCase", "oneOfTwo", "other", "otherField"].map((name) => `declared/_workflows/${name}.ts`),
    );
  },
);

/** Compares the names and events that a feature's references write out with those it defines. */
async function writeWrittenOut(folder: string): Promise<void> {
  const modules = Object.entries(await filesIn(folder)).flatMap(([path, text]) =>
    /^export const reference: \w+ = own/m.test(text) ? [path.replace(/\.ts$/, "")] : [],
  );
  const imports = modules.map((path, at) => `import { reference as r${at} } from "./${path}";`);
  const same = modules.map((_path, at) => `  same(r${at});`);
  const text = `${imports.join("\n")}\n${writtenOut}export function all() {\n${same.join("\n")}\n}\n`;
  await writeFile(join(folder, "writtenOut.ts"), text);
}

const writtenOut = `import type { EventName, EventPayload, NodeName, NodePath } from "@stepwise/workflow";
type Names<D> = D extends { "~names"?: () => infer N; nodes: infer Nodes } ? N | keyof Nodes : never;
type Of<R> = R extends { readonly "~definition": infer D extends { nodes: unknown } } ? D : never;
type Taken<D> = D extends { "~events"?: () => infer E } ? Extract<E, { event: string }> : never;
type Payloads<D> = { [E in Taken<D> as E["event"]]: E extends { payload: infer P } ? P : never };
type Sent<R> = { [E in EventName<R>]: EventPayload<R, E> };
/* A function with a builder of any adds whatever is under a path, for what the types know. */
type Within<A, B> = [A] extends [B] ? [] : [A, B];
type Same<A, B> = [...Within<A, B>, ...Within<B, A>];
type Hidden<D> = string extends Names<D> ? true : false;
declare function same<R>(
  reference: R,
  ...differs: Hidden<Of<R>> extends true ? [] : [
    ...Within<NodePath<R>, Names<Of<R>>>, ...Same<NodeName<R>, keyof Of<R>["nodes"]>, ...Same<keyof Sent<R>, keyof Payloads<Of<R>>>,
    ...Same<Sent<R>, { [E in keyof Payloads<Of<R>>]: Payloads<Of<R>>[E] }>,
  ]
): void;
`;

const parent = (name: string, children: string) =>
  `export const ${name} = defineWorkflow({ input }).parent("p", { children: () => ${children} });\n`;

/** Children by name with the outputs of their workflows, and with others. */
const declared = `import { child, childNamed, defineWorkflow } from "@stepwise/workflow";
import { z } from "zod";
export const input = z.object({});
export const text = defineWorkflow({ input }).step("s", { query: () => "text" });
export const either = defineWorkflow({ input }).step("s", { query: (): string | null => null });
${parent("same", '[childNamed<string>("text", {}), child(either, {})]')}
${parent("wider", '({ a: childNamed<string | null>("text", {}) })')}
${parent("oneOrNone", '(1 > 2 ? { a: childNamed<string>("text", {}) } : {})')}
${parent("oneOrOther", '(1 > 2 ? { a: childNamed<string>("text", {}) } : { b: child(either, {}) })')}
${parent("unknown", '[childNamed<unknown>("text", {})]')}
${parent("unseen", '[...others, childNamed<string>("text", {})]')}
const others: ReturnType<typeof childNamed<string>>[] = [];
${parent("other", '[childNamed<number>("text", {})]')}
${parent("otherField", '({ a: childNamed<string>("text", {}), b: childNamed<string>("either", {}) })')}
${parent("oneOfTwo", '[childNamed<string>("text", {}), childNamed<number>("either", {})]')}
export const inCase = defineWorkflow({ input }).branch("b", {
  on: () => "only",
  cases: { only: (b) => b.parent("p", { children: () => [childNamed<string>("either", {})] }) },
});
`;

/** Definitions whose types depend on where they are, or that hide the names of their nodes. */
const placed = `import { type Builder, type Definition, defineWorkflow, type Sequence } from "@stepwise/workflow";
import { z } from "zod";
import { internal } from "./_generated/api";
const Kind = z.object({ kind: z.enum(["x", "y"]) });
type B = Builder<{ kind: "x" | "y" }, [["input", { kind: "x" | "y" }]], null>;
const hiding = (b: B): Sequence<number> => b.step("inside", { query: () => 1 });
const defined = (b: B): Definition<any, any, number> => b.step("inside", { query: () => 1 });
const deep = (b: Builder<any, any, null>): Sequence<number> => b.branch("deep", {
  on: () => "k" as const,
  cases: { k: (c) => c.step("inside", { action: async () => 1 }) },
});
const shared = (b: Builder<any, any, null>) =>
  b.step("one", { query: () => 1 }).step("two", { query: (_ctx, { one }) => one });
const repeated = (b: Builder<any, any, null>): Sequence<number> => b.step("one", { query: () => 1 });
export const hidden = defineWorkflow({ input: Kind })
  .branch("way", { on: ({ input }) => input.kind, cases: { x: hiding, y: defined } })
  .branch("further", { on: ({ input }) => input.kind, cases: { x: deep, y: shared } })
  .loop("again", { initial: () => 1, body: repeated, until: () => true, maxIterations: 2 });
export const annotated: Definition<{ kind: "x" | "y" }, { input: { kind: "x" | "y" } }, number> =
  defineWorkflow({ input: Kind }).step("only", { query: () => 1 });

export interface Text { readonly text: string }
export type Types = { input: Text; output: Text } | undefined;
export const byHand = defineWorkflow({
  input: { "~standard": { version: 1, vendor: "app", types: undefined as Types, validate: (value) => ({ value: { text: String(value) } }) } },
}).step("only", { query: (_ctx, { input }) => input.text.length });
export const inParentheses = defineWorkflow({
  input: ({ "~standard": { version: 1, vendor: "app", types: undefined as Types, validate(value) { return { value: { text: String(value) } }; } } }),
}).step("only", { query: (_ctx, { input }) => input.text.length });
export const inArm = defineWorkflow({
  input: Math.random() > 2 ? z.object({ text: z.string() }) : {
    "~standard": { version: 1, vendor: "app", types: undefined as Types, validate: (value) => ({ value: { text: String(value) } }) },
  },
}).step("only", { query: (_ctx, { input }) => input.text.length });

if (process.env.MODEL === undefined) throw new Error("MODEL is missing");
export const limit = Number(process.env.MODEL) || undefined;
function assertSet(value: unknown): asserts value {
  if (!value) throw new Error("missing");
}
assertSet(process.env.TIER);
assertSet(limit);
z.config({});
export const guarded = defineWorkflow({
  input: z.object({ model: z.literal(process.env.MODEL), tier: z.literal(process.env.TIER) }),
}).step("only", { query: (_ctx, { input }) => input.model.length });
export const limited = defineWorkflow({ input: z.object({ n: z.number().max(limit) }) })
  .step("only", { query: (_ctx, { input }) => input.n });

export const referring = defineWorkflow({ input: Kind })
  .step("found", { query: internal.kinds.find, args: ({ input }) => input })
  .step("last", { action: (ctx, { found }) => ctx.runQuery(internal.kinds.find, { kind: found }) });
`;

/** What an app with the types of Node has, in short. */
const globals = "declare const process: { env: { MODEL?: string; TIER?: string } };\n";

/** An app that calls such workflows. */
const calling = `import { WorkflowManager } from "@stepwise/workflow";
import { internalMutationGeneric, internalQueryGeneric } from "convex/server";
import { v } from "convex/values";
import { components } from "./_generated/api";
import { workflows } from "./_workflows/index";
const workflow = new WorkflowManager(components.workflow);
export const find = internalQueryGeneric({
  args: { kind: v.union(v.literal("x"), v.literal("y")) },
  handler: (_ctx, { kind }) => kind,
});
export const start = internalMutationGeneric({ args: {}, handler: async (ctx): Promise<void> => {
  await workflow.start(ctx, workflows.referring, { kind: "x" });
  // @ts-expect-error it is no such kind
  await workflow.start(ctx, workflows.referring, { kind: "z" });
  // @ts-expect-error it is no text
  await workflow.start(ctx, workflows.inArm, { text: 1 });
  await workflow.start(ctx, workflows.guarded, { model: "m", tier: "t" });
  // @ts-expect-error the guard says that it is set
  await workflow.start(ctx, workflows.guarded, { model: undefined, tier: "t" });
  // @ts-expect-error it is no number
  await workflow.start(ctx, workflows.limited, { n: "1" });
} });
`;

/* Vitest checks them with TypeScript 7. One program of all is cheaper than several. */
const ofKinds = ["concurrent", "ending", "matching"].map((file) =>
  join(import.meta.dirname, `../../workflow/test/types/${file}.test-d.ts`),
);

test.each(["5.9", "6", "7"] as const)(
  "TypeScript %s knows hidden nodes, inputs whose types are of their place, and all kinds of nodes; it sees no circle",
  { tags: ["large"] },
  async (version) => {
    const folder = scratchFolder(`placed-${version}`);
    await rm(folder, { recursive: true, force: true });
    const { files, diagnostics } = await compileSources([{ file: "a.workflow.ts", text: placed }]);
    expect(diagnostics).toEqual([]);
    const app = { "a.workflow.ts": placed, "kinds.ts": calling, "globals.d.ts": globals };
    const written = Object.entries(app).map(([path, text]) => ({ path, text }));
    for (const { path, text } of [...files, ...written]) {
      await mkdir(dirname(join(folder, path)), { recursive: true });
      await writeFile(join(folder, path), text);
    }
    await writeGeneratedTypes(folder);
    await writeCircle(join(folder, "circle"));
    const include = ["**/*", ...ofKinds];
    expect(await typeErrors(folder, { declaration: true }, include, version)).toEqual([]);
  },
);
