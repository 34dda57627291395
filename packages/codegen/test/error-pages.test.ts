/** @module-tag large */
import { mkdir, readdir, readFile, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { mkdtemp, rm } from "../../../scripts/folders.mjs";
import { compile, Compiler } from "../src/compile.js";
import { codes } from "../src/diagnostics/codes.js";

const folder = new URL("../errors/", import.meta.url);
const pages = (await readdir(folder)).filter((name) => name.startsWith("SW"));
const read = (name: string) => readFile(new URL(name, folder), "utf8");

/** What the examples leave out. */
const imports = `import { child, childNamed, defineWorkflow } from "@stepwise/workflow";
import { z } from "zod";
import { internal } from "./_generated/api";
`;

/** The codes that the files of an example are reported with. */
async function reported(example: string): Promise<string[]> {
  if (
    /^\/\/ \S+ -> \S+$|^\/\/ convex\/(?:_workflows\/|\w+\.ts\n.*\bdefineWorkflow\()/m.test(example)
  )
    return await reportedOnDisk(example);
  const files = new Map<string, string>();
  const parts = example.split(/^\/\/ convex\/(.*)\n/m);
  if (parts.length === 1) files.set("example.workflow.ts", example);
  for (let at = 1; at < parts.length; at += 2) files.set(parts[at] ?? "", parts[at + 1] ?? "");
  const sources = [...files]
    .filter(([file]) => file.endsWith(".workflow.ts"))
    .map(([file, text]) => ({ file, text: imports + text }));
  const { diagnostics } = await new Compiler().compileSources(sources, (file) => files.get(file));
  return [...new Set(diagnostics.map(({ code }) => code))];
}

/**
 * Of an example with links, `// convex/link -> ../target`, generated files, or definitions
 * elsewhere: these are only there on a disk.
 */
async function reportedOnDisk(example: string): Promise<string[]> {
  const app = await mkdtemp(join(tmpdir(), "stepwise-page-"));
  try {
    const parts = example.split(/^\/\/ ((?:convex|shared)\/.*)\n/m);
    for (let at = 1; at < parts.length; at += 2) {
      const [path = "", target] = (parts[at] ?? "").split(" -> ");
      await mkdir(dirname(join(app, path)), { recursive: true });
      if (target === undefined) await writeFile(join(app, path), textOf(path, parts[at + 1]));
      else await symlink(target, join(app, path));
    }
    const { diagnostics } = await compile({ functionsDir: join(app, "convex") });
    return [...new Set(diagnostics.map(({ code }) => code))];
  } finally {
    await rm(app, { recursive: true });
  }
}

const textOf = (path: string, text = "") => (path.includes("/_workflows/") ? text : imports + text);

test("each code has its page, and each page its code", () => {
  expect(pages.sort()).toEqual(
    Object.values(codes)
      .map(({ code }) => `${code}.md`)
      .sort(),
  );
});

test.each(Object.values(codes))(
  "the page of $code says what it means, and its examples are what it says",
  async ({ code, title }) => {
    const text = await read(`${code}.md`);
    expect(text.split("\n")[0]).toBe(`# ${code}: ${title}`);
    const [why = ""] = text.split("\n\n").slice(1);
    expect(why.length).toBeGreaterThan(20);
    const [wrong = "", right = ""] = [...text.matchAll(/```ts\n([^]*?)```/g)].map(
      ([, block]) => block,
    );
    expect(await reported(wrong)).toEqual([code]);
    expect(await reported(right)).toEqual([]);
  },
);

test("the list of pages is that of the codes", async () => {
  const text = await read("README.md");
  for (const { code, title } of Object.values(codes))
    expect(text).toMatch(new RegExp(`\\[${code}\\]\\(${code}\\.md\\) +\\| ${title} +\\|`));
});
