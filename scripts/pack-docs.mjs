// Copies the docs for users into @stepwise/workflow before it is packed, so that an app has the
// pages of its version. Links lead to pages that the app has, or else to the repository.
// oxlint-disable-next-line no-restricted-imports -- It deletes the copies that it makes.
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { root } from "./committed.mjs";

const read = (path) => readFileSync(join(root, path), "utf8");
const home = "packages/workflow";

/** The pages of `docs/README.md` in their order, with the headings they stand under. */
export function pages() {
  const [, ...groups] = read("docs/README.md").split("\n## ");
  return groups.map((group) => ({
    heading: group.slice(0, group.indexOf("\n")),
    pages: [...group.matchAll(/^- \[(.*)\]\((.*)\): (.*(?:\n {2}.*)*)$/gm)].map(
      ([, title, path, about]) => ({
        title,
        path: relative(root, resolve(root, "docs", path)),
        about: about.replace(/\s+/g, " "),
      }),
    ),
  }));
}

/** The texts of the shipped pages, by their paths in the repository as it would be with them. */
export function shippedPages() {
  const { version, repository } = JSON.parse(read(`${home}/package.json`));
  const repo = repository.url.replace(/^git\+|\.git$/g, "");
  const listed = pages()
    .filter(({ heading }) => heading !== "How it works")
    .flatMap((group) => group.pages.map(({ path }) => path));
  /** Where the copy of each page stands. */
  const copies = new Map(
    ["docs/README.md", ...listed.filter((path) => path.startsWith("docs/"))].map((path) => [
      path,
      `${home}/${path}`,
    ]),
  );
  copies.set(`${home}/README.md`, `${home}/docs/manager.md`);
  copies.set("llms.txt", `${home}/llms.txt`);

  /** Where an app has a file of the repository, if it does. */
  const placeOf = (path) =>
    copies.get(path) ??
    // These are installed with the package, or beside it.
    (/^packages\/(?:workflow\/SKILL\.md|codegen\/errors\/|(?:codegen|workpool)\/README\.md)/.test(
      path,
    )
      ? path
      : undefined);
  return new Map(
    [...copies].map(([path, copy]) => [
      copy,
      read(path)
        .replace(path === "llms.txt" ? /\n## How it works[^]*/ : "", "")
        .replace(/\]\(((?!\w+:|#)[^)\s#]+)(#[^)\s]*)?\)/g, (_link, href, anchor = "") => {
          const linked = relative(root, resolve(root, dirname(path), href));
          const place = placeOf(linked);
          return place === undefined
            ? `](${repo}/blob/@stepwise/workflow@${version}/${linked}${anchor})`
            : `](${relative(dirname(copy), place)}${anchor})`;
        }),
    ]),
  );
}

if (process.argv[1] === import.meta.filename) {
  rmSync(join(root, home, "docs"), { recursive: true, force: true });
  for (const [path, text] of shippedPages()) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
  }
}
