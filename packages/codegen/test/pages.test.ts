/** @module-tag large */
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { readFile, readdir } from "node:fs/promises";
import { dirname, join } from "node:path";
import { WorkflowManager } from "@stepwise/workflow";
import { expect, test } from "vitest";
import { shippedPages } from "../../../scripts/pack-docs.mjs";
import { runProgram } from "../src/cli/program.js";

const root = new URL("../../../", import.meta.url).pathname;
const read = (path: string) => readFile(join(root, path), "utf8");
const readJson = async (path: string) => JSON.parse(await read(path)) as Record<string, never>;

/** Every page of this repository, but golden files. */
const listed = spawnSync("git", ["ls-files", "*.md", "llms.txt"], { cwd: root, encoding: "utf8" });
const allPages = listed.stdout
  .split("\n")
  .filter((path) => path !== "" && !/\/fixtures\/|^\.changeset\//.test(path));

/** What `find` says of all pages. */
async function ofAllPages(
  find: (page: string, text: string) => Promise<string[]> | string[],
): Promise<string[]> {
  const found: string[] = [];
  for (const page of allPages) found.push(...(await find(page, await read(page))));
  return found;
}

/** Commands and names as pages show them: spans of code, and the lines of their shell blocks. */
function codeIn(text: string): string[] {
  const shell = [...text.matchAll(/^```sh\n([^]*?)^```/gm)].flatMap(([, block = ""]) =>
    block.replaceAll(/\\\n */g, "").split(/\n|&& /),
  );
  const spans = text.replaceAll(/^```[^]*?^```/gm, "").matchAll(/`([^`]+)`/g);
  return [...shell, ...[...spans].map(([, span = ""]) => span.replaceAll("\n", " "))];
}

const anchorsOf = (text: string) =>
  [...text.matchAll(/^#+ (.*)$/gm)].map(([, heading = ""]) =>
    heading
      .toLowerCase()
      .replace(/[^\p{L}\p{N}\s_-]/gu, "")
      .replaceAll(" ", "-"),
  );

/** The links of a page to a file or a heading that does not exist. */
async function brokenLinks(page: string, text: string, fileAt = read): Promise<string[]> {
  const broken: string[] = [];
  for (const [, link = ""] of text.matchAll(/\]\(([^)\s]+)\)/g)) {
    if (/^\w+:/.test(link)) continue;
    const [path = "", anchor] = link.split("#");
    const target = path === "" ? page : join(dirname(page), path);
    const linked = await fileAt(target).catch((error: Error & { code?: string }) =>
      error.code === "EISDIR" ? "" : undefined,
    );
    if (linked === undefined || (anchor !== undefined && !anchorsOf(linked).includes(anchor)))
      broken.push(`${page}: ${link}`);
  }
  return broken;
}

test("every link of a page leads to a file and a heading that exist", async () => {
  expect(allPages.length).toBeGreaterThan(100);
  expect(await ofAllPages(brokenLinks)).toEqual([]);
  const wrong = "[a](docs/cli.md#generat) [b](docs/clii.md) [c](#nowhere) [d](docs/cli.md#run)";
  expect(await brokenLinks("README.md", wrong)).toEqual([
    "README.md: docs/cli.md#generat",
    "README.md: docs/clii.md",
    "README.md: #nowhere",
  ]);
});

test("a link of a page in the package leads to a page that an app has, or out of it", async () => {
  const shipped = shippedPages();
  const installed = /^packages\/(?:workflow\/SKILL\.md|codegen\/|workpool\/)/;
  const fileAt = async (path: string) =>
    shipped.get(path) ??
    (installed.test(path) ? await read(path) : Promise.reject(new Error(path)));
  const broken: string[] = [];
  for (const [page, text] of shipped) broken.push(...(await brokenLinks(page, text, fileAt)));
  expect(broken).toEqual([]);
  const outside = [...shipped.values()].flatMap((text) => [
    ...text.matchAll(/\]\(https:\/\/github\.com\/[^)]*workflow@[^/]*\/[^)]*\)/g),
  ]);
  expect(outside.length).toBeGreaterThan(0);
  expect(
    outside.filter(([link]) => /packages\/(?:workflow|codegen|workpool)\//.test(link)),
  ).toEqual([]);
});

/**
 * The names of everything in the sources: options, exports, methods, and the values they may have.
 */
async function namesInSources(): Promise<ReadonlySet<string>> {
  const folders = ["workflow", "workpool", "codegen", "testing"].map(
    (name) => `packages/${name}/src`,
  );
  const names = new Set<string>();
  for (const folder of folders)
    for (const path of await readdir(join(root, folder), { recursive: true }))
      if (path.endsWith(".ts"))
        for (const [name] of (await read(`${folder}/${path}`)).matchAll(/--[\w-]+|[\w$]+/g))
          names.add(name);
  return names;
}

test("every option, method and field that a page lists in a table exists", async () => {
  const known = await namesInSources();
  const unknown = await ofAllPages((page, text) =>
    [...text.matchAll(/^\| (.*)\n\|[ -|]+\n((?:\|.*\n)+)/gm)].flatMap(
      ([, header = "", rows = ""]) =>
        /^(?:option|method|member|type|function|call|export|field)/.test(header)
          ? [...rows.matchAll(/^\|((?:\\\||[^|])*)\|/gm)]
              .flatMap(([, first = ""]) => [...first.matchAll(/`([^`]+)`/g)])
              .map(([, code = ""]) => /^(?:(?:\w+\.)*\.?)?(--[\w-]+|\w+)/.exec(code)?.[1] ?? code)
              .filter((name) => !known.has(name))
              .map((name) => `${page}: ${name}`)
          : [],
    ),
  );
  expect(unknown).toEqual([]);
});

/** The names that a module of the sources exports. */
async function exportsOf(file: string): Promise<string[]> {
  const text = (await read(file)).replaceAll(/\/\*[^]*?\*\/|\/\/.*/g, "");
  const names = [...text.matchAll(/^export (?:type )?\{([^}]*)\}/gm)].flatMap(([, list = ""]) =>
    list.split(",").map((name) => /(\w+)\s*$/.exec(name)?.[1] ?? ""),
  );
  const declared = text.matchAll(
    /^export (?:declare |async |abstract )*(?:const|function|class|interface|type) (\w+)/gm,
  );
  for (const [, name = ""] of declared) names.push(name);
  for (const [, from = ""] of text.matchAll(/^export (?:type )?\* from "(\..*)\.js"/gm))
    names.push(...(await exportsOf(join(dirname(file), `${from}.ts`))));
  return names;
}

/** The names that each module of the packages exports, as apps import it. */
const modules = new Map<string, string[]>();
for (const name of ["workflow", "workpool", "codegen", "testing", "studio"]) {
  const { exports } = await readJson(`packages/${name}/package.json`);
  for (const [path, target] of Object.entries<Record<string, string>>(exports ?? {})) {
    const source = target["@convex-dev/component-source"];
    if (source !== undefined)
      modules.set(join("@stepwise", name, path), await exportsOf(join(`packages/${name}`, source)));
  }
}

/** Modules of the packages, and names that a page imports from them, that do not exist. */
function unknownImports(page: string, text: string): string[] {
  const found = [...text.matchAll(/["`](@stepwise\/[\w./-]+)["`]/g)]
    .map(([, path = ""]) => path)
    .filter((path) => !modules.has(path) && !/\/(?:package\.json|src\/.*|\*)$/.test(path));
  const imports = [...text.matchAll(/^import (?:type )?\{([^}]*)\} from "(@stepwise[^"]*)"/gm)];
  // A table of what modules export: | `@stepwise/workflow/test` | `testKit(t, vi)`, … |
  const rows = [...text.matchAll(/^\| `(@stepwise\/[\w./]+)` +\|(.*)\|$/gm)].map(
    ([row, path = "", cell = ""]) => {
      const names = [...cell.matchAll(/`([A-Za-z]\w+)[`(]/g)].map(([, name]) => name);
      return [row, cell.includes("app.use") ? "" : names.join(","), path];
    },
  );
  for (const [, names = "", path = ""] of [...imports, ...rows])
    for (const [name] of names.replaceAll(/\btype | as \w+/g, "").matchAll(/\w+/g))
      if (!modules.get(path)?.includes(name)) found.push(`${name} of ${path}`);
  return found.map((what) => `${page}: ${what}`);
}

test("every module and export of the packages that a page names exists", async () => {
  expect(modules.get("@stepwise/workflow/test")).toContain("testKit");
  expect(await ofAllPages(unknownImports)).toEqual([]);
  const wrong = `import { testKit, workflow } from "@stepwise/workflow/test";
import { drive } from "@stepwise/workflow/testing";
| \`@stepwise/workflow/react\` | \`useRun\`, \`useRuns(x)\` |
`;
  expect(unknownImports("a.md", wrong)).toEqual([
    "a.md: @stepwise/workflow/testing",
    "a.md: workflow of @stepwise/workflow/test",
    "a.md: drive of @stepwise/workflow/testing",
    "a.md: useRuns of @stepwise/workflow/react",
  ]);
});

test("every method of the manager that a page names exists", async () => {
  const methods = [...Object.getOwnPropertyNames(WorkflowManager.prototype), "define"];
  const unknown = await ofAllPages((page, text) =>
    [...text.matchAll(/(?<![\w.*/-])workflow\.([a-z]\w+)(?=[(`])/g)]
      .map(([, name = ""]) => name)
      .filter((name) => !methods.includes(name))
      .map((name) => `${page}: workflow.${name}`),
  );
  expect(unknown).toEqual([]);
});

const helps = new Map<string, string>();
/** The help of a command of workflow-codegen; empty if there is none such. */
async function helpOf(command: string): Promise<string> {
  const help: string[] = [];
  const stdout = { write: (text: string) => void help.push(text) };
  const terminal = { cwd: root, color: false, stdout, stderr: stdout, exitCode: 0 };
  // Commander throws when it has shown the help.
  if (!helps.has(command)) await runProgram(terminal, [command, "--help"]).catch(() => undefined);
  const text = helps.get(command) ?? help.join("");
  helps.set(command, text);
  return text.startsWith(`Usage: workflow-codegen ${command} `) ? text : "";
}
const optionsOf = (help: string) =>
  [...help.matchAll(/^ +(?:-\w, )?(--[\w-]+)/gm)].map(([, option = ""]) => option);

const commands = ["generate", "dev", "check", "run", "studio", "mcp", "graph", "explain", "init"];

/** Of the command lines of a page, commands and options that do not exist. */
async function unknownCommands(page: string, text: string): Promise<string[]> {
  const unknown: string[] = [];
  for (const line of codeIn(text)) {
    const [, words] =
      /^(?:.* )?workflow-codegen( .*|$)/.exec(line) ??
      /^((?:generate|dev|check|run|studio|mcp|graph|explain|init) --.*)/.exec(line) ??
      [];
    if (words === undefined) continue;
    const [own = ""] = words.replace(/'[^']*'/g, "").split(/ -- | #| [|>] /);
    const [, command = "generate"] = /^ ?([a-z]+)/.exec(own) ?? [];
    const help = await helpOf(command);
    const options = [...own.matchAll(/(?:^| )(--[\w-]+)/g)].map(([, option = ""]) => option);
    const allowed = [...optionsOf(help), ...(words === " --version" ? ["--version"] : [])];
    const wrong = options.filter((option) => !allowed.includes(option));
    if (help === "") wrong.push(command);
    unknown.push(...wrong.map((name) => `${page}: ${line} (${name})`));
  }
  return unknown;
}

test("every command of workflow-codegen that a page shows exists, with its options", async () => {
  expect(await ofAllPages(unknownCommands)).toEqual([]);
  const wrong = `\`check --watch\`, \`npx workflow-codegen genrate\`, \`check --json\`
\`\`\`sh
npm ci && npx workflow-codegen run order --inp '{ "--seed": 1 }' --seed a.json
\`\`\``;
  expect(await unknownCommands("a.md", wrong)).toEqual([
    `a.md: npx workflow-codegen run order --inp '{ "--seed": 1 }' --seed a.json (--inp)`,
    "a.md: check --watch (--watch)",
    "a.md: npx workflow-codegen genrate (genrate)",
  ]);
});

test("the command line's page lists all options of a command below it, and no others", async () => {
  const sections = (await read("docs/cli.md")).split(/^## /m);
  for (const command of commands) {
    const section = sections.find((each) => each.startsWith(`${command}\n`)) ?? "";
    const shown = [...section.matchAll(/^\| `(--[\w-]+)/gm)].map(([, option = ""]) => option);
    const hidden = section.replaceAll(/^\|.*/gm, "");
    const options = optionsOf(await helpOf(command)).filter(
      (option) => option !== "--dir" && option !== "--help" && !hidden.includes(`\`${option}`),
    );
    const also = shown.filter((option) => !hidden.includes(`\`${option}`));
    expect([command, ...also.toSorted()]).toEqual([command, ...options.toSorted()]);
  }
});

test("every script that a page runs with npm exists", async () => {
  const own = Object.keys((await readJson("package.json")).scripts ?? {});
  // What `init` adds to an app.
  own.push("workflows", "workflows:watch", "workflows:check");
  const unknown = await ofAllPages(async (page, text) => {
    const example = /^examples\/\w+\//.exec(page)?.[0];
    const scripts =
      example && Object.keys((await readJson(`${example}package.json`)).scripts ?? {});
    return codeIn(text)
      .map((line) => /npm run ([\w:]+)/.exec(line)?.[1])
      .filter((name) => name !== undefined && !(scripts ?? own).includes(name))
      .map((name) => `${page}: npm run ${name}`);
  });
  expect(unknown).toEqual([]);
});

test("pages install convex-test as it is today: the packages take any from one version on", async () => {
  const pinned = await ofAllPages((page, text) =>
    codeIn(text)
      .filter((line) => /^npm install .*convex-test@/.test(line))
      .map((line) => `${page}: ${line}`),
  );
  expect(pinned).toEqual([]);
});

/** Turns of phrase that read as if they were translated, and words of a dialect of our own. */
const stiff = [
  /\bof yours\b|\bbesides\b|\bin the midst\b|\bnobody's concern\b|\banew\b|\bnot free\b/i,
  /(?:^|[.:|] )(?:Of (?:an?|the|its?|what|those|all)|So has|So is|What (?:cannot|can|runs|undoes)) /m,
  /\b(?:the names of which|as much as another|where it fails|what cannot|what runs ends)\b/,
  /(?:^|[.:|] )Whatever |, also (?:if|from)\b/m,
  /\b(?:fates|stamps|tallies|left-behind)\b/,
];

test("no page has a turn of phrase that a reader would stumble over", async () => {
  const found = await ofAllPages((page, text) =>
    stiff.flatMap((phrase) => {
      const match = phrase.exec(
        text.replaceAll(/^```[^]*?^```/gm, "").replaceAll(/\n(?=\S)/g, " "),
      );
      return match === null ? [] : [`${page}: ${match[0]}`];
    }),
  );
  expect(found).toEqual([]);
});

/** The sentences of a page that have more than 25 words. Code, and a link, count by their text. */
function longSentences(page: string, text: string): string[] {
  const prose = text
    .replaceAll(/^```[^]*?^```/gm, "")
    .replaceAll(/\]\([^)]*\)/g, "]")
    .replaceAll(/`[^`]*`/g, "code");
  return prose
    .split(/\n\s*\n|\n(?=\s*(?:[-*#]|\d+\.) )|\|/)
    .flatMap((block) => block.split(/(?<=[.!?…][)"*]*)\s+/))
    .filter((sentence) => sentence.split(/\s+/).filter((word) => /\w/.test(word)).length > 25)
    .map((sentence) => `${page}: ${sentence.trim()}`);
}

test("no sentence of a page, and no cell of a table, has more than 25 words", async () => {
  expect(await ofAllPages(longSentences)).toEqual([]);
  const words = "and so on ".repeat(8);
  expect(longSentences("a.md", `It goes on ${words}.`)).toHaveLength(1);
  expect(longSentences("a.md", `| It goes on ${words} | no |`)).toHaveLength(1);
  expect(longSentences("a.md", `It goes. On ${words}\n- ${words}`)).toEqual([]);
});

/** The docstrings of a source that begin like half a sentence. */
const halfSentences = (text: string): string[] =>
  [
    ...text.matchAll(
      /\/\*\*(?: |\n\s*\* )((?:\[\d+\] )*(?:Whether|As|For|Of|Such as|That of|Those)\b.*)/g,
    ),
  ].map(([, line = ""]) => line);

test("no docstring begins like half a sentence, as with Whether or Of", async () => {
  const sources = spawnSync("git", ["ls-files", "packages/*/src/*.ts", "packages/*/src/*.tsx"], {
    cwd: root,
    encoding: "utf8",
  });
  const files = sources.stdout.split("\n").filter((path) => path !== "" && existsSync(root + path));
  expect(files.length).toBeGreaterThan(400);
  const found: string[] = [];
  for (const path of files)
    found.push(...halfSentences(await read(path)).map((line) => `${path}: ${line}`));
  expect(found).toEqual([]);
  const odd = "/** Whether it ends. */\n/**\n * Of a run\n */\n/** Ends it. */\n// Of a run";
  expect(halfSentences(odd)).toEqual(["Whether it ends. */", "Of a run"]);
});

test("every package names the same repository, and itself in it", async () => {
  const { repository } = (await readJson("packages/workflow/package.json")) as unknown as {
    repository: { url: string };
  };
  const address = repository.url.replace(/^git\+|\.git$/g, "");
  const own = new URL(address).pathname.slice(1);
  for (const name of ["workflow", "workpool", "codegen", "testing", "studio"])
    expect(await readJson(`packages/${name}/package.json`)).toMatchObject({
      repository: { ...repository, directory: `packages/${name}` },
      homepage: `${address}/tree/main/packages/${name}#readme`,
      bugs: { url: `${address}/issues` },
      publishConfig: { access: "public", provenance: true },
    });
  expect(await read(".github/workflows/release.yml")).toContain(`'${own}'`);
  expect(await read("docs/.vitepress/config.mts")).toContain(`"${address}"`);
  expect(await read("RELEASING.md")).toContain(own);
});
