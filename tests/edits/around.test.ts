import { mkdir, symlink, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { rm } from "../../scripts/folders.mjs";
import { compile, writeGenerated } from "../../packages/codegen/src/compile.js";
import {
  compilers,
  scratchFolder,
  typeErrors,
  writeGeneratedTypes,
} from "../../packages/codegen/test/type-check.js";
import { Deployment, type Files, Releases } from "./deployed.js";

/* What people share between their app and its front end, or other apps, stands around `convex/`. */

const releases = new Releases();
const scratch = scratchFolder("around");
beforeAll(() => rm(scratch, { recursive: true, force: true }));
afterAll(async () => {
  await releases.remove();
  await rm(scratch, { recursive: true, force: true });
});

const paths = { "@/*": ["./*"], "~shared": ["./shared/schemas.ts"] };

/** How the app names its own package, the schemas and the handlers. */
interface Names {
  readonly lib: string;
  readonly schemas: string;
  readonly handlers: string;
}

/** By the `paths` of a tsconfig, and a package of the workspace. */
const BY_PATHS: Names = { lib: "@acme/lib", schemas: "~shared", handlers: "@/shared/handlers" };
/** By the `imports` of a manifest: the bundler reads no tsconfig in the folder of these apps. */
const BY_IMPORTS: Names = { lib: "#lib", schemas: "#shared/schemas", handlers: "#shared/handlers" };

const app = ({ lib, schemas, handlers }: Names): Files => ({
  "../tsconfig.json": JSON.stringify({ compilerOptions: { paths } }),
  "../package.json": JSON.stringify({
    type: "module",
    imports: { "#lib": "./packages/lib/src/index.ts", "#shared/*": "./shared/*.ts" },
  }),
  "../packages/lib/package.json": `{ "name": "@acme/lib", "exports": "./src/index.ts" }`,
  "../packages/lib/src/index.ts": `
export * from "./policies";
export { withLogging } from "./wrap";
export * as names from "./names";
`,
  "../packages/lib/src/policies.ts": `export const policies = { llm: { retry: true } } as const;`,
  "../packages/lib/src/wrap.ts": `
export const withLogging =
  <Given extends unknown[], Made>(handler: (...given: Given) => Made) =>
  (...given: Given): Made => handler(...given);
`,
  "../packages/lib/src/names.ts": `
export const NODES = { draft: "draft", way: "way" } as const;
export enum Kind { Small = "small", InProgress = "in-progress" }
`,
  "../shared/schemas.ts": `
import { z } from "zod";
import { names } from "../packages/lib/src/index";
export const Doc = z.object({ text: z.string(), kind: z.enum(names.Kind) });
export { summarize as brief } from "./handlers";
`,
  "../shared/handlers.ts": `
type Scope = { readonly input: { readonly text: string } };
export const summarize = async (_ctx: unknown, { input }: Scope) => input.text.slice(0, 5);
`,
  "flow.workflow.ts": `
import { child, defineWorkflow } from "@stepwise/workflow";
import { names, policies, withLogging } from "${lib}";
import { summarize } from "${handlers}";
import { brief, Doc } from "${schemas}";
const KINDS = names.Kind;
export const leaf = defineWorkflow({ input: Doc.pick({ text: true }) })
  .step("only", { query: async (_ctx, { input }) => input.text.length });
export const flow = defineWorkflow({ input: Doc })
  .step(names.NODES.draft, { ...policies.llm, action: brief })
  .step("again", { action: withLogging(summarize.bind(null)) })
  .branch(names.NODES["way"], {
    on: ({ input }) => input.kind,
    cases: {
      [names.Kind.InProgress]: (b) => b.step("deep", { action: withLogging(async () => 1) }),
      [KINDS.Small]: (b) => b.step("flat", { ...policies.llm, action: async () => 2 }),
    },
  })
  .parent("kids", { children: ({ again }) => [child(leaf, { text: again })] })
  .finalize({ query: async (_ctx, { draft, way, kids }) => ({ draft, way, kids }) });
`,
});

test(
  "names, keys, policies, handlers and schemas from around the functions folder do what they say",
  { tags: ["large"] },
  async () => {
    vi.useRealTimers();
    const version = await releases.release(app(BY_IMPORTS));
    vi.useFakeTimers();
    for (const [kind, way] of [
      ["in-progress", 1],
      ["small", 2],
    ]) {
      const deployment = new Deployment(version, [version]);
      const input = { text: "long text", kind };
      const id = (await deployment.call("start", { name: "flow", input })) as string;
      await deployment.drive();
      expect(await deployment.see(id)).toMatchObject({
        state: "completed",
        output: { draft: "long ", way, kids: { children: [5] } },
      });
    }
    vi.useRealTimers();
  },
);

async function written(name: string): Promise<string> {
  const functionsDir = join(scratch, name, "convex");
  const files: Files = app(BY_PATHS);
  for (const [path, text] of Object.entries(files)) {
    await mkdir(dirname(join(functionsDir, path)), { recursive: true });
    await writeFile(join(functionsDir, path), text);
  }
  await mkdir(join(scratch, name, "node_modules/@acme"), { recursive: true });
  await symlink("../../packages/lib", join(scratch, name, "node_modules/@acme/lib"));
  return functionsDir;
}

async function expectTypes(version: keyof typeof compilers): Promise<void> {
  const functionsDir = await written(`types-${version}`);
  const { diagnostics, files, output } = await compile({ functionsDir });
  expect(diagnostics).toEqual([]);
  await writeGenerated(functionsDir, files, { folders: [output] });
  await writeGeneratedTypes(functionsDir);
  const folder = dirname(functionsDir);
  const options = { paths };
  expect(await typeErrors(folder, options, ["convex"], version)).toEqual([]);
}

test.each(["5.9", "6", "7"] as const)(
  "their types are right in TypeScript %s, with a workspace",
  { tags: ["large"] },
  expectTypes,
);
