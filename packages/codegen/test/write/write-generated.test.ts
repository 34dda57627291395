/** @module-tag large */
import { mkdir, readdir, readFile, stat, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { mkdtemp, rm } from "../../../../scripts/folders.mjs";
import { compile, driftOf, writeGenerated } from "../../src/compile.js";
import { sealed } from "../../src/emit/index-file.js";
import { compilerVersion } from "../../src/version.js";
import { sidesOf } from "../../src/write/present-files.js";
import { filesIn, fixtures } from "../golden.js";

let folder = "";
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "stepwise-write-"));
});
afterEach(() => rm(folder, { recursive: true }));

const compiled = async (feature: string) =>
  (await compile({ functionsDir: join(fixtures, feature, "convex") })).files;

test("writes everything the first time, and nothing the second", { tags: ["large"] }, async () => {
  const files = await compiled("steps");
  const paths = files.map(({ path }) => path);
  expect(await writeGenerated(folder, files)).toEqual({
    written: paths,
    removed: [],
    unchanged: [],
    edited: [],
  });
  expect(Object.keys(await filesIn(folder)).sort()).toEqual(paths.toSorted());
  const before = await stat(join(folder, "_workflows/index.ts"));
  expect(await writeGenerated(folder, files)).toEqual({
    written: [],
    removed: [],
    unchanged: paths,
    edited: [],
  });
  expect((await stat(join(folder, "_workflows/index.ts"))).mtimeMs).toBe(before.mtimeMs);
});

/** Changes one file of what was written, and tells what the folder holds then. */
async function edited(path: string, from: string | RegExp, to: string) {
  const text = await readFile(join(folder, path), "utf8");
  const changed = text.replace(from, to);
  expect(changed).not.toBe(text);
  await writeFile(join(folder, path), changed);
  return await filesIn(folder);
}

test.each<[what: string, path: string, from: string | RegExp, to: string]>([
  ["a line of code", "_workflows/ping.ts", "export const entry", "export const begin"],
  ["a comment at the end", "_workflows/index.ts", /$/, "// mine\n"],
  [
    "the version in its header",
    "_workflows/ping.ts",
    /workflow-codegen [\d.]+/,
    "workflow-codegen 9",
  ],
  ["its header taken away", "_workflows/ping.ts", /^\/\/ workflow-codegen .*\n/m, ""],
  ["a field of the plan", "_workflows/ping.plan.json", '"kind": "step"', '"kind": "leap"'],
  ["a line of the list of workflows", "_workflows/workflows.ts", /$/, "export const mine = 1;\n"],
  ["git's attributes", "_workflows/.gitattributes", /$/, "* text\n"],
])("a file that was edited by hand is not written over: %s", async (_what, path, from, to) => {
  const files = await compiled("steps");
  await writeGenerated(folder, files);
  const before = await edited(path, from, to);
  await expect(writeGenerated(folder, files)).rejects.toThrow(
    new RegExp(`^${path} was edited by hand, so nothing was written: .*generate --force`),
  );
  // Nor is it removed with its workflow; and beside it nothing is written either.
  await expect(writeGenerated(folder, [])).rejects.toThrow("was edited by hand");
  expect(await filesIn(folder)).toEqual(before);
  expect(await driftOf(folder, files)).toMatchObject({ written: [path], edited: [path] });
  expect(await writeGenerated(folder, files, { force: true })).toMatchObject({ written: [path] });
  expect((await writeGenerated(folder, files)).unchanged).toHaveLength(files.length);
  await edited(path, from, to);
  expect((await writeGenerated(folder, [], { force: true })).removed).toContain(path);
});

test("all files that were edited are named in one message", async () => {
  const files = await compiled("steps");
  await writeGenerated(folder, files);
  for (const path of ["_workflows/ping.ts", "_workflows/index.ts"]) await edited(path, /$/, "//\n");
  await expect(writeGenerated(folder, files)).rejects.toThrow(
    "_workflows/index.ts, _workflows/ping.ts were edited by hand",
  );
});

test("what an older compiler wrote is no edit: it is written anew", async () => {
  const files = await compiled("steps");
  const version = compilerVersion();
  const older = files.map(({ path, text }) => {
    const [first = "", , ...rest] = text.split("\n");
    const changed = `${first}\n${rest.join("\n").replace("Entry", "Way")}`;
    return !path.endsWith(".ts") || path.endsWith("/workflows.ts")
      ? { path, text: text.replace(`"compiler": "${version}"`, '"compiler": "0.0.1"') }
      : sealed({ path, text: changed }, "0.0.1");
  });
  await writeGenerated(folder, older);
  expect(await driftOf(folder, files)).toMatchObject({ edited: [], removed: [] });
  const code = files.filter(({ path }) => path.endsWith(".ts") && !path.endsWith("/workflows.ts"));
  expect((await writeGenerated(folder, files)).written).toEqual(
    expect.arrayContaining(code.map(({ path }) => path)),
  );
  expect(await filesIn(folder)).toEqual(
    Object.fromEntries(files.map(({ path, text }) => [path, text])),
  );
});

test("a checkout with other line ends is no edit, and nothing is out of date", async () => {
  const files = await compiled("steps");
  await writeGenerated(folder, files);
  for (const { path, text } of files)
    await writeFile(join(folder, path), text.replaceAll("\n", "\r\n"));
  expect(await driftOf(folder, files)).toMatchObject({ written: [], edited: [], removed: [] });
});

test("a file in which a merge left a conflict is no edit: it is written anew", async () => {
  const files = await compiled("steps");
  await writeGenerated(folder, files);
  const conflict = "<<<<<<< HEAD\n$&=======\n$&>>>>>>> theirs\n";
  await edited("_workflows/ping.ts", /^\/\/ Generated.*\n/, conflict);
  await edited("_workflows/index.ts", /^\/\/ workflow-codegen.*\n/m, conflict);
  await edited("_workflows/plan.json", /^ +"compiler".*\n/m, conflict);
  const written = await writeGenerated(folder, files);
  expect(written.edited).toEqual([]);
  expect(written.written.toSorted()).toEqual([
    "_workflows/index.ts",
    "_workflows/ping.ts",
    "_workflows/plan.json",
  ]);
});

test("leaves no temporary file behind", async () => {
  await writeGenerated(folder, await compiled("steps"));
  expect(
    (await readdir(join(folder, "_workflows"))).filter((name) => name.endsWith(".tmp")),
  ).toEqual([]);
});

test("removes its own files of workflows that are gone, and no others", async () => {
  const files = await compiled("steps");
  await writeGenerated(folder, files);
  await writeFile(join(folder, "_workflows/mine.ts"), "export const mine = 1;\n");
  const left = files.filter(({ path }) => !path.endsWith("/ping.ts"));
  expect(await writeGenerated(folder, left)).toMatchObject({
    written: [],
    removed: ["_workflows/ping.ts"],
  });
  expect((await writeGenerated(folder, [])).removed).toHaveLength(left.length);
  expect(await filesIn(folder)).toEqual({ "_workflows/mine.ts": "export const mine = 1;\n" });
});

test.each(["_workflows/ping.ts", "_workflows/plan.json"])(
  "refuses to write over %s of another origin, and writes nothing",
  async (path) => {
    await mkdir(join(folder, "_workflows"));
    await writeFile(join(folder, path), "{}");
    await expect(writeGenerated(folder, await compiled("steps"))).rejects.toThrow(
      `cannot write ${path}: the file that is there was not made by workflow-codegen`,
    );
    expect(await filesIn(folder)).toEqual({ [path]: "{}" });
  },
);

test.each(["ping.ts", "index.ts", "workflows.ts", "plan.json", ".gitattributes"])(
  "writes %s anew if it was emptied",
  async (name) => {
    const files = await compiled("steps");
    await writeGenerated(folder, files);
    await writeFile(join(folder, "_workflows", name), "");
    expect(await writeGenerated(folder, files)).toMatchObject({
      written: [`_workflows/${name}`],
      edited: [],
    });
    expect((await driftOf(folder, files)).written).toEqual([]);
  },
);

test("refuses to write through a link out of the functions folder", async () => {
  const elsewhere = await mkdtemp(join(tmpdir(), "stepwise-elsewhere-"));
  await symlink(elsewhere, join(folder, "_workflows"));
  await expect(writeGenerated(folder, await compiled("steps"))).rejects.toThrow(
    "outside the functions folder",
  );
  expect(await readdir(elsewhere)).toEqual([]);
  await rm(elsewhere, { recursive: true });
});

test("refuses it through a link to a folder around the output too, and through one to a folder that it is to remove from", async () => {
  const elsewhere = await mkdtemp(join(tmpdir(), "stepwise-elsewhere-"));
  await symlink(elsewhere, join(folder, "generated"));
  const files = await compiled("output");
  expect(files.map(({ path }) => path)).toContain("generated/workflows/index.ts");
  await expect(writeGenerated(folder, files)).rejects.toThrow("outside the functions folder");
  const folders = ["generated/workflows"];
  const others = await compiled("steps");
  await expect(writeGenerated(folder, others, { folders })).rejects.toThrow(
    "outside the functions folder",
  );
  expect(await readdir(elsewhere)).toEqual([]);
  expect(await readdir(folder)).toEqual(["generated"]);
  await rm(elsewhere, { recursive: true });
});

test("refuses to replace a link that stands where a file belongs", async () => {
  await mkdir(join(folder, "_workflows"));
  await writeFile(join(folder, "secret.ts"), "// Generated by workflow-codegen\n");
  await symlink(join(folder, "secret.ts"), join(folder, "_workflows/ping.ts"));
  await expect(writeGenerated(folder, await compiled("steps"))).rejects.toThrow(
    "_workflows/ping.ts",
  );
  expect(await readFile(join(folder, "secret.ts"), "utf8")).toBe(
    "// Generated by workflow-codegen\n",
  );
});

test("both sides of a merge are found, also where the merge shows what there was before", () => {
  const merged = [
    "a",
    "<<<<<<< HEAD",
    "ours",
    "||||||| base",
    "base",
    "=======",
    "theirs",
    ">>>>>>> b",
    "c",
    "",
  ].join("\n");
  expect(sidesOf(merged)).toEqual(["a\nours\nc\n", "a\ntheirs\nc\n"]);
  expect(sidesOf(merged.replace(/\|{7}[^=]*/, ""))).toEqual(["a\nours\nc\n", "a\ntheirs\nc\n"]);
  expect(sidesOf("a\n")).toEqual(["a\n"]);
});
