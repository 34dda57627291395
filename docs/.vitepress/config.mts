import { cpSync, mkdirSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path/posix";
import { defineConfig, type DefaultTheme } from "vitepress";

const repository = "https://github.com/stepwise-workflow/stepwise";
const root = join(import.meta.dirname, "../..");

/** Pages that stand beside what they describe, by the page of the site that shows a copy of them. */
const copies = new Map([
  ["reference/manager.md", "packages/workflow/README.md"],
  ...["workpool", "codegen", "testing", "studio"].map(
    (name) => [`reference/${name}.md`, `packages/${name}/README.md`] as const,
  ),
  ...readdirSync(join(root, "packages/codegen/errors")).map(
    (name) =>
      [
        `reference/errors/${name.replace("README", "index")}`,
        `packages/codegen/errors/${name}`,
      ] as const,
  ),
]);
for (const [copy, path] of copies) {
  mkdirSync(dirname(join(root, "docs", copy)), { recursive: true });
  cpSync(join(root, path), join(root, "docs", copy));
}
const pageOf = new Map([...copies].map(([copy, path]) => [path, copy]));

/** A link of a page, as the site has it. Files without a page are read on GitHub. */
function linkOf(page: string, href: string): string {
  if (/^(?:\w+:|#|\/)/.test(href)) return href;
  const [, path = "", anchor = ""] = /^([^#]*)(.*)$/.exec(href) ?? [];
  const target = join(dirname(copies.get(page) ?? join("docs", page)), path);
  const shown = pageOf.get(target) ?? /^docs\/(.*\.md)$/.exec(target)?.[1];
  if (shown === undefined) return `${repository}/blob/main/${target}${anchor}`;
  return `/${shown.replace(/(?:(?<=^|\/)(?:README|index))?\.md$/, "")}${anchor}`;
}

/** The sidebar in the reading order of README.md. */
function sidebar(): DefaultTheme.SidebarItem[] {
  const readme = readFileSync(join(root, "docs/README.md"), "utf8");
  return readme
    .split("\n## ")
    .slice(1)
    .map((group) => ({
      text: group.slice(0, group.indexOf("\n")),
      collapsed: group.startsWith("How it works"),
      items: [...group.matchAll(/^- \[(.*)\]\((.*)\):/gm)].map(([, text = "", link = ""]) => ({
        text,
        link: linkOf("README.md", link),
      })),
    }));
}

export default defineConfig({
  title: "Stepwise",
  description: "Durable workflows for Convex, compiled to ordinary Convex functions",
  cleanUrls: true,
  lastUpdated: true,
  rewrites: { "README.md": "index.md" },
  transformPageData(page) {
    if (copies.has(page.relativePath)) page.frontmatter.editLink = false;
  },
  markdown: {
    config(md) {
      const render = md.renderer.rules.link_open;
      md.renderer.rules.link_open = (tokens, index, options, env, self) => {
        const token = tokens[index];
        token?.attrSet("href", linkOf(env.relativePath, token.attrGet("href") ?? ""));
        return (
          render?.(tokens, index, options, env, self) ?? self.renderToken(tokens, index, options)
        );
      };
    },
  },
  themeConfig: {
    search: { provider: "local" },
    sidebar: sidebar(),
    outline: [2, 3],
    nav: [
      { text: "Quick start", link: "/quick-start" },
      { text: "The language", link: "/language" },
      { text: "API", link: "/api/workflow" },
    ],
    socialLinks: [{ icon: "github", link: repository }],
    editLink: { pattern: `${repository}/edit/main/docs/:path` },
  },
});
