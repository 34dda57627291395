// Writes `docs/api` from the docstrings of the built packages, and `llms.txt` from the reading order
// in `docs/README.md`. Takes --check. With --pack it copies the docs into @stepwise/workflow.
// oxlint-disable-next-line no-restricted-imports -- It deletes the copies that it makes.
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { format } from "prettier";
import { Node, Project } from "ts-morph";
import { keep, root } from "./committed.mjs";

const read = (path) => readFileSync(join(root, path), "utf8");

/** What apps import, by the page that describes it. */
const entries = {
  workflow: ["@stepwise/workflow", "packages/workflow/dist/index.d.ts"],
  "workflow-test": ["@stepwise/workflow/test", "packages/workflow/dist/test.d.ts"],
  "workflow-react": ["@stepwise/workflow/react", "packages/workflow/dist/react/index.d.ts"],
  workpool: ["@stepwise/workpool", "packages/workpool/dist/client/index.d.ts"],
  codegen: ["@stepwise/codegen", "packages/codegen/dist/index.d.ts"],
  testing: ["@stepwise/testing", "packages/testing/dist/index.d.ts"],
};

const project = new Project({
  compilerOptions: {
    module: 199,
    moduleResolution: 99,
    strict: true,
    skipLibCheck: true,
    types: [],
  },
});

/** A declaration's docstring as Markdown: its text, then its tags. */
function docsOf(declaration) {
  const holder = Node.isVariableDeclaration(declaration)
    ? declaration.getVariableStatement()
    : declaration;
  const [doc] = Node.isJSDocable(holder) ? holder.getJsDocs().slice(-1) : [];
  if (doc === undefined) return "";
  const plain = (text) =>
    text
      .replace(/\{@link (\w+)\}/g, "`$1`")
      .replaceAll("<", "\\<")
      .trim();
  const tags = doc.getTags().map((tag) => {
    const text = plain(tag.getCommentText() ?? "");
    const name = tag.getTagName();
    if (name === "example") return `\n\`\`\`ts\n${tag.getCommentText()}\n\`\`\`\n`;
    if (name === "param") return `- \`${tag.getName()}\`: ${text.replace(/^- /, "")}`;
    return `- ${name === "returns" ? "Returns" : name === "throws" ? "Throws" : name}: ${text}`;
  });
  return [plain(doc.getDescription()), tags.join("\n")].filter(Boolean).join("\n\n");
}

/** A declaration's text; of a long value, such as a validator, the name alone. */
function codeOf(declaration) {
  const isValue = Node.isVariableDeclaration(declaration);
  const text = (isValue ? declaration.getVariableStatementOrThrow() : declaration).getText();
  if (isValue && text.length > 600) return `const ${declaration.getName()}: …;`;
  return text
    .replace(/^export (?:declare )?/, "")
    .replace(/^ +private\b.*\n/gm, "")
    .replace(/^ +#private;\n/gm, "");
}

async function apiPage(title, file) {
  const source = project.addSourceFileAtPath(join(root, file));
  const parts = [
    `# ${title}`,
    `What \`${title}\` exports, from its docstrings. Written by \`scripts/docs.mjs\`.`,
  ];
  const byName = ([a], [b]) => (a.toLowerCase() < b.toLowerCase() ? -1 : 1);
  for (const [name, declarations] of [...source.getExportedDeclarations()].sort(byName)) {
    const own = declarations.filter((each) => each.getSourceFile().getFilePath().startsWith(root));
    if (own.length === 0) continue;
    const code = own.map(codeOf).join("\n");
    parts.push(`## ${name}`, ...own.map(docsOf).filter(Boolean), `\`\`\`ts\n${code}\n\`\`\``);
  }
  return await format(parts.join("\n\n"), { parser: "markdown", printWidth: 100 });
}

/** The pages of `docs/README.md` in their order, with the headings they stand under. */
function pages() {
  const [, ...groups] = read("docs/README.md").split("\n## ");
  return groups.map((group) => ({
    heading: group.slice(0, group.indexOf("\n")),
    pages: [...group.matchAll(/^- \[(.*)\]\((.*)\): (.*)$/gm)].map(([, title, path, about]) => ({
      title,
      path: relative(root, resolve(root, "docs", path)),
      about,
    })),
  }));
}

function llmsText() {
  const groups = pages().map(({ heading, pages: listed }) =>
    [
      `## ${heading}`,
      "",
      ...listed.map(({ title, path, about }) => `- [${title}](${path}): ${about}`),
    ].join("\n"),
  );
  const intro = `# Stepwise

> Durable workflows for Convex, compiled to ordinary Convex functions. To write workflows, read the skill first: it is enough for most tasks.

- [Skill](packages/workflow/SKILL.md): how to write, run and test workflows, on one page`;
  return `${[intro, ...groups].join("\n\n")}\n`;
}

/** The docs of this version, for who has only the package. Links out of them lead to the repository. */
function pack() {
  const { version, repository } = JSON.parse(read("packages/workflow/package.json"));
  const home = repository.url.replace(/^git\+|\.git$/g, "");
  const target = join(root, "packages/workflow/docs");
  rmSync(target, { recursive: true, force: true });
  const forUsers = pages().filter(({ heading }) => heading !== "How it works");
  const listed = forUsers.flatMap((group) => group.pages.map(({ path }) => path));
  const kept = ["docs/README.md", ...listed.filter((path) => path.startsWith("docs/"))];
  for (const path of kept) {
    const to = join(target, relative("docs", path));
    mkdirSync(dirname(to), { recursive: true });
    const text = read(path).replace(/\]\(((?!\w+:|#)[^)\s]+)\)/g, (link, href) => {
      const linked = relative(root, resolve(root, dirname(path), href));
      return kept.includes(linked.replace(/#.*/, ""))
        ? link
        : `](${home}/blob/@stepwise/workflow@${version}/${linked})`;
    });
    writeFileSync(to, text);
  }
  const list = read("llms.txt")
    .replace(/\n## How it works[^]*/, "")
    .replaceAll("](packages/workflow/", "](")
    .replaceAll("](packages/", `](${home}/blob/@stepwise/workflow@${version}/packages/`);
  writeFileSync(join(root, "packages/workflow/llms.txt"), list);
}

if (process.argv.includes("--pack")) pack();
else {
  keep("llms.txt", llmsText());
  for (const [page, [title, file]] of Object.entries(entries))
    keep(`docs/api/${page}.md`, await apiPage(title, file));
}
