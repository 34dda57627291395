// Writes `docs/api` from the docstrings of the built packages, and `llms.txt` from the reading
// order in `docs/README.md`. Takes --check.
import { join } from "node:path";
import { format } from "prettier";
import { Node, Project } from "ts-morph";
import { keep, root } from "./committed.mjs";
import { pages } from "./pack-docs.mjs";

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
      .replace(/(`+)[^]*?\1|</g, (found) => (found === "<" ? "\\<" : found))
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

/** A declaration's text, without the long type of a validator. */
function codeOf(declaration) {
  const isValue = Node.isVariableDeclaration(declaration);
  const whole = (isValue ? declaration.getVariableStatementOrThrow() : declaration).getText();
  if (isValue && whole.length > 600) return `const ${declaration.getName()}: …;`;
  const returned = Node.isFunctionDeclaration(declaration) && declaration.getReturnTypeNode();
  const type = returned ? returned.getText() : "";
  const text = type.length > 600 ? whole.replace(type, "Validator") : whole;
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
  return await format(parts.join("\n\n"), {
    parser: "markdown",
    printWidth: 100,
    proseWrap: "always",
  });
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

keep("llms.txt", llmsText());
for (const [page, [title, file]] of Object.entries(entries))
  keep(`docs/api/${page}.md`, await apiPage(title, file));
