import { readFileSync } from "node:fs";
import { join, normalize } from "node:path/posix";
import { defineConfig, type DefaultTheme } from "vitepress";

const repository = "https://github.com/stepwise-workflow/stepwise";

/** The sidebar in the reading order of README.md. Pages outside of this folder are read on GitHub. */
function sidebar(): DefaultTheme.SidebarItem[] {
  const readme = readFileSync(new URL("../README.md", import.meta.url), "utf8");
  return readme
    .split("\n## ")
    .slice(1)
    .map((group) => ({
      text: group.slice(0, group.indexOf("\n")),
      collapsed: group.startsWith("How it works"),
      items: [...group.matchAll(/^- \[(.*)\]\((.*)\):/gm)].map(([, text = "", link = ""]) => ({
        text,
        link: link.startsWith("../") ? onGitHub(link.slice(3)) : `/${link}`,
      })),
    }));
}

const onGitHub = (path: string) => `${repository}/blob/main/${path}`;

export default defineConfig({
  title: "Stepwise",
  description: "Durable workflows for Convex, compiled to ordinary Convex functions",
  cleanUrls: true,
  lastUpdated: true,
  rewrites: { "README.md": "index.md" },
  markdown: {
    config(md) {
      const render = md.renderer.rules.link_open;
      md.renderer.rules.link_open = (tokens, index, options, env, self) => {
        const token = tokens[index];
        const href = token?.attrGet("href") ?? "";
        const target = normalize(join("docs", env.relativePath, "..", href));
        if (href.startsWith("../") && !target.startsWith("docs/"))
          token?.attrSet("href", onGitHub(target));
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
