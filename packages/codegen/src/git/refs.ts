import { dirname, join, resolve } from "node:path";
import { readText } from "../discover/discover.js";

const mains = ["heads/main", "heads/master", "remotes/origin/main", "remotes/origin/master"];

/** What git keeps of a working tree itself, and of the repository that it may share with others. */
const own = ["HEAD", "reftable/tables.list"];
const shared = [
  "packed-refs",
  "shallow",
  "reftable/tables.list",
  "refs/remotes/origin/HEAD",
  ...mains.map((name) => `refs/${name}`),
];

/** Returns where HEAD and the main branches are, by git's own files; empty without a repository. */
export function refsState(folder: string): string {
  const gitDir = gitFolder(folder);
  if (gitDir === undefined) return "";
  const common = resolve(gitDir, readText(join(gitDir, "commondir"))?.trim() ?? "");
  const found = new Map<string, string>();
  const look = (path: string) => {
    const text = found.has(path) ? undefined : readText(path);
    if (text === undefined) return;
    found.set(path, text);
    const [, target] = /^ref: (.+)$/m.exec(text) ?? [];
    if (target !== undefined) look(join(common, target));
  };
  for (const name of own) look(join(gitDir, name));
  for (const name of shared) look(join(common, name));
  return JSON.stringify([...found]);
}

/** The `.git` folder of the nearest repository, or the one that its `.git` file names. */
function gitFolder(folder: string): string | undefined {
  const [, elsewhere = ".git"] = /^gitdir: (.+)$/m.exec(readText(join(folder, ".git")) ?? "") ?? [];
  const gitDir = resolve(folder, elsewhere);
  if (readText(join(gitDir, "HEAD")) !== undefined) return gitDir;
  return dirname(folder) === folder ? undefined : gitFolder(dirname(folder));
}
