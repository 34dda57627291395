import { cp, mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { format } from "prettier";
import { expect, test } from "vitest";
import { rm } from "../../../scripts/folders.mjs";
import { compile } from "../src/compile.js";
import { codes } from "../src/diagnostics/codes.js";
import { fixtures } from "./golden.js";
import { scratchFolder, typeErrors, writeGeneratedTypes } from "./type-check.js";

const root = new URL("../../../", import.meta.url).pathname;
const docs = join(root, "docs");
const read = (path: string) => readFile(join(root, path), "utf8");

test("no code stands for two problems", () => {
  const all = Object.values(codes);
  expect(new Set(all.map(({ code }) => code)).size).toBe(all.length);
});

test.each(["ingestDocument.ts", "index.ts"])(
  "docs/generated-code.md shows %s as it is generated",
  { tags: ["large"] },
  async (name) => {
    const generated = await readFile(join(fixtures, "documents/expected/_workflows", name), "utf8");
    // In the page, code is laid out for this repository.
    const shown = await format(generated, { printWidth: 100, parser: "typescript" });
    const unsealed = shown
      .replace(/^\/\/ workflow-codegen \S+, content \w+$/m, "// workflow-codegen …, content …")
      .replace(/^ {2}plan: "\w+",$/m, '  plan: "…",');
    expect(await read("docs/generated-code.md")).toContain(unsealed);
  },
);

/**
 * The other pages are for contributors; and the language's, whose examples
 * packages/workflow/test/types/page.test.ts compiles, and those that tests/needs runs.
 */
const isForUsers =
  /^(?:guides\/(?!limits-compared).*|quick-start|tutorial|deploying|migrating-.*|troubleshooting|faq)\.md$/;
const inDocs = (
  await Promise.all(
    ["", "guides/", "api/"].map(async (folder) =>
      (await readdir(join(docs, folder))).map((name) => `${folder}${name}`),
    ),
  )
)
  .flat()
  .filter((path) => path.endsWith(".md"));
const pages = [
  "README.md",
  "packages/workflow/README.md",
  "packages/workflow/SKILL.md",
  ...inDocs.filter((path) => isForUsers.test(path)).map((path) => `docs/${path}`),
];
/** Each shows its workflow as it would be with the peer, beside the app that it is of. */
const examplePages = ["agent", "approval", "documents", "import", "onboarding", "order"].map(
  (name) => `examples/${name}/README.md`,
);
type App = Record<string, string>;
const exportsOf = (code = "") =>
  [...code.matchAll(/^export (?:const|function) (\w+)/gm)].map(([, name]) => name);

/**
 * The apps that a page shows. Each block names its file in its first line, and is added to what the
 * page showed of that file before; one that exports the same name again is the file's next version,
 * in an app of its own.
 */
function appsOf(page: string, text: string): App[] {
  const apps: App[] = [];
  let app: App = {};
  for (const [, block = ""] of text.matchAll(/^```(?:tsx?|typescript)\n([^]*?)^```/gm)) {
    const [, path = "", code = ""] = /^\/\/ (\S+)\n([^]*)/.exec(block) ?? [];
    expect(path, `a block of ${page}:\n${block}`).toMatch(/^(?:convex|test)\/[\w./]+\.ts$/);
    const before = app[path] ?? "";
    const isNextVersion = exportsOf(code).some((name) => exportsOf(before).includes(name));
    if (isNextVersion) apps.push(app);
    const imported = before.split("\n").filter((line) => line.startsWith("import "));
    const added = code.split("\n").filter((line) => !imported.includes(line));
    app = { ...app, [path]: isNextVersion ? code : [before, ...added].join("\n") };
  }
  return Object.keys(app).length > 0 ? [...apps, app] : [];
}

/** How an example that has both mounts them. */
const bothConfig = `import workflow from "@stepwise/workflow/convex.config";
import peer from "@convex-dev/workflow/convex.config";
app.use(workflow);
app.use(peer, { name: "peer" });`;

const usualConfig = `import workflow from "@stepwise/workflow/convex.config";
app.use(workflow);`;

/** By name, the package of each component that a config mounts. */
function mountedBy(config: string): Record<string, string> {
  const used = [...config.matchAll(/^app\.use\((\w+)(?:, \{ name: "(\w+)" \})?\);/gm)];
  return Object.fromEntries(
    used.map(([, imported = "", name]) => {
      const from = new RegExp(`^import ${imported} from "(.*)/convex\\.config`, "m").exec(config);
      return [name ?? from?.[1]?.split("/").at(-1) ?? "", from?.[1] ?? ""];
    }),
  );
}

/** Writes the apps of a page into a folder, and gives what the compiler says of them. */
async function writeApps(scratch: string, page: string, example?: string): Promise<unknown[]> {
  const problems: unknown[] = [];
  for (const [version, app] of appsOf(page, await read(page)).entries()) {
    const folder = join(scratch, page.replace(/\W/g, "-"), `${version}`);
    const write = async (path: string, text: string) => {
      await mkdir(dirname(join(folder, path)), { recursive: true });
      await writeFile(join(folder, path), text);
    };
    const functionsDir = join(folder, "convex");
    if (example !== undefined) {
      await cp(join(root, example, "convex"), functionsDir, { recursive: true });
      await rm(join(functionsDir, "_generated"), { recursive: true });
    }
    for (const [path, code] of Object.entries(app)) await write(path, code);
    const { diagnostics, files } = await compile({ functionsDir });
    problems.push(...diagnostics.map(({ code, message, place }) => [page, code, message, place]));
    for (const { path, text } of files) await write(`convex/${path}`, text);
    const config = example === undefined ? app["convex/convex.config.ts"] : bothConfig;
    await writeGeneratedTypes(functionsDir, mountedBy(config ?? usualConfig));
    for (const name of example === undefined ? ["server"] : ["server", "dataModel"]) {
      const path = `convex/_generated/${name}.d.ts`;
      await cp(join(root, example ?? "examples/documents", path), join(folder, path));
    }
  }
  return problems;
}

const types = ["node", "vite/client"];

test(
  "every TypeScript example of the pages for users compiles, and has no type errors",
  { tags: ["large"] },
  async () => {
    const scratch = scratchFolder("pages");
    await rm(scratch, { recursive: true, force: true });
    const problems: unknown[] = [];
    for (const page of pages) problems.push(...(await writeApps(scratch, page)));
    expect([...problems, ...(await typeErrors(scratch, { types }))]).toEqual([]);
  },
);

test.each([
  ["docs/guides/at-once.md", ["videos", "evals", "auctions"]],
  ["docs/guides/applications.md", ["ingestion", "customers", "migration", "tickets"]],
])("%s says how many lines its applications take, and took before", async (page, names) => {
  const text = await read(page);
  const linesOf = (path: string) => {
    const [, code = ""] = new RegExp(`^// ${path}\\n([^]*?)^\`\`\``, "m").exec(text) ?? [];
    return code.split("\n").filter((line) => line !== "" && !line.startsWith("import ")).length;
  };
  for (const name of names) {
    const [now, before] = [`convex/${name}`, `convex/before/${name}`].map((path) =>
      linesOf(`${path}.workflow.ts`),
    );
    expect(now).toBeLessThan(before!);
    expect(text).toContain(`one workflow of ${now} lines`);
    expect(text.replaceAll("\n", " ")).toMatch(
      RegExp(`(?:workflows and|it takes) ${before} lines`),
    );
  }
});

test.each(examplePages)(
  "%s: its workflow, as it would be with the peer, has no type errors",
  { tags: ["large"] },
  async (page) => {
    const example = dirname(page);
    const scratch = scratchFolder(example.replace(/\W/g, "-"));
    await rm(scratch, { recursive: true, force: true });
    const problems = await writeApps(scratch, page, example);
    expect([...problems, ...(await typeErrors(scratch, { types }))]).toEqual([]);
  },
);

test("the loads in the README are those that were measured", async () => {
  const measured = await read("benchmarks/load.md");
  const rows = [
    ...(await read("README.md")).matchAll(/^\| (\d[^|]*?) +\| ([\d-]+) +\| ([\d-]+) +\|$/gm),
  ];
  expect(rows.length).toBeGreaterThan(3);
  for (const [, load, peer, ours] of rows) {
    const found = measured.split("\n").find((line) => line.startsWith(`| ${load} `)) ?? "";
    expect(found).toContain(`| 0 / 0 `);
    expect(found).toContain(`| ${ours} / ${peer} `);
  }
});
