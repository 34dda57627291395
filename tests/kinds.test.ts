import { existsSync, readdirSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { expect, test } from "vitest";
import { nodeKinds } from "../packages/codegen/src/analyze/nodes/table.js";

/* How many source files of all packages a developer touches who adds a kind of node. */

const root = join(import.meta.dirname, "..");
const MOST_FILES = 15;

/** Where the word of a kind is said of something else. */
const elsewhere: Readonly<Record<string, readonly string[]>> = {
  // A part of a parent, or of a stage's name.
  finalize: [
    "codegen/src/analyze/nodes/parent.ts",
    "codegen/src/analyze/options.ts",
    "workflow/src/client/nodes.ts",
    "workflow/src/component/core/steps.ts",
    "workflow/src/component/validators.ts",
    "workflow/src/runtime/place.ts",
  ],
  // One of those of a `.parallel`.
  branch: [
    "codegen/src/analyze/nodes/concurrent.ts",
    "codegen/src/compatibility/compare.ts",
    "codegen/src/compatibility/lines.ts",
    "workflow/src/runtime/place.ts",
  ],
  // A field of records and of arguments, and a shape of the graph.
  loop: [
    "studio/src/page/restart.tsx",
    "workflow/src/component/core/steps.ts",
    "workflow/src/runtime/place.ts",
    "workflow/src/runtime/restart.ts",
  ],
  // What enters a step is a field of its record.
  event: ["workflow/src/component/core/steps.ts", "workflow/src/runtime/reference.ts"],
  // The function `child`, and a run below another.
  child: [
    "codegen/src/analyze/children.ts",
    "codegen/src/analyze/unchanged.ts",
    "workflow/src/client/which-run.ts",
    "workflow/src/component/features/compensation.ts",
    "workflow/src/component/schema.ts",
    "workflow/src/component/steering.ts",
  ],
  // That of a sequence, of a run, or of a stream.
  end: [
    "codegen/src/analyze/nodes/loop.ts",
    "codegen/src/emit/file-scope.ts",
    "codegen/src/emit/workflow-file.ts",
    "codegen/src/plan/flow.ts",
    "studio/src/mcp.ts",
  ],
};

/** Files of a kind's own types, and what exports them. */
const types: Readonly<Record<string, readonly string[]>> = {
  step: ["node.ts"],
  parent: ["parent.ts", "index.ts"],
  event: ["event.ts", "index.ts"],
  branch: ["cases.ts", "index.ts"],
  match: ["matching.ts"],
  parallel: ["concurrent.ts"],
  race: ["concurrent.ts"],
  each: ["concurrent.ts", "scope.ts"],
  child: ["parent.ts", "index.ts"],
  end: ["ending.ts", "index.ts"],
};

const packages = join(root, "packages");
/** The code of each source file, without comments and without generated files. */
const sources = new Map(
  readdirSync(packages)
    .filter((name) => existsSync(join(packages, name, "src")))
    .flatMap((name) =>
      readdirSync(join(packages, name, "src"), { recursive: true, encoding: "utf8" }).map((file) =>
        join(name, "src", file),
      ),
    )
    .filter((file) => /\.tsx?$/.test(file) && !file.includes("_generated"))
    .map((file) => {
      const text = readFileSync(join(packages, file), "utf8");
      return [file, text.replaceAll(/\/\*[^]*?\*\/|(?<=^|\s)\/\/.*/gm, "")];
    }),
);
const kinds = [...nodeKinds.keys()];

const quotes = (text: string, kind: string): boolean => text.includes(`"${kind}"`);
/** Says whether code has the kind as a key, a method, an import or an export. */
const lists = (text: string, kind: string): boolean =>
  new RegExp(
    `^\\s*${kind}\\s*(?:[(<:,]|$)|import \\{[^}]*\\b${kind}\\b|export const ${kind}\\b`,
    "m",
  ).test(text);
const tables = [...sources].filter(
  ([, text]) => kinds.filter((kind) => quotes(text, kind) || lists(text, kind)).length >= 8,
);

function filesOf(kind: string): Set<string> {
  const named = [...sources].filter(
    ([file, text]) => quotes(text, kind) || basename(file) === `${kind}.ts`,
  );
  const all = [...named, ...tables.filter(([, text]) => lists(text, kind))].map(([file]) => file);
  const own = (types[kind] ?? []).map((file) => `workflow/src/definition/${file}`);
  return new Set([...all, ...own].filter((file) => elsewhere[kind]?.includes(file) !== true));
}

test.each(kinds)(`a kind touches at most ${MOST_FILES} source files: %s`, (kind) => {
  const files = [...filesOf(kind)].sort();
  expect(files.length, files.join("\n")).toBeLessThanOrEqual(MOST_FILES);
  expect(files.length).toBeGreaterThan(tables.length);
});

test("where a word is no kind it is still said, and all kinds are in the same tables", () => {
  for (const [kind, files] of Object.entries(elsewhere))
    for (const file of files) expect(quotes(sources.get(file) ?? "", kind), file).toBe(true);
  expect(tables.map(([file]) => file).sort()).toEqual([
    "codegen/src/analyze/nodes/table.ts",
    "codegen/src/check/options.ts",
    "codegen/src/emit/stages.ts",
    "codegen/src/plan/stage-kinds.ts",
    "workflow/src/definition/builder.ts",
    "workflow/src/definition/definer.ts",
    "workflow/src/runtime/nodes/kinds.ts",
    "workflow/src/runtime/run.ts",
  ]);
});
