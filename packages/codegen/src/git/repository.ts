import { execFileSync } from "node:child_process";

export class GitFailed extends Error {
  override readonly name = "GitFailed";
}

/** `main`, `v1.2`, `HEAD~1`, `main@{upstream}`: never an option, a path or a search. */
const refName = /^(?!.*\.\.)[\p{L}\p{N}@_][\p{L}\p{N}\p{M}._/@{}~^+#-]*$/u;

export const isRefName = (name: string): boolean => refName.test(name);

/** The committed files of a folder. No program that the repository names is run. */
export class Repository {
  /** @param prefix of the folder in the repository, with `/` at its end; empty at its top */
  constructor(
    readonly folder: string,
    readonly prefix: string,
  ) {}

  /** The repository that a folder is in; undefined when it is in none, or there is no git. */
  static around(folder: string): Repository | undefined {
    try {
      const isTracked = git(folder, ["rev-parse", "--is-inside-work-tree"]).trim() === "true";
      const prefix = git(folder, ["rev-parse", "--show-prefix"]).replace(/\n$/, "");
      return isTracked ? new Repository(folder, prefix) : undefined;
    } catch (error) {
      // Without git, or outside of any repository, there is nothing to compare with.
      if (error instanceof GitFailed && /not a git repository|ENOENT/.test(error.message))
        return undefined;
      throw error;
    }
  }

  commit(ref: string): string | undefined {
    if (!isRefName(ref)) return undefined;
    return this.#maybe(["rev-parse", "--verify", "--quiet", `${ref}^{commit}`]);
  }

  /**
   * Returns what two commits have in common; undefined if that cannot be told, as in a shallow
   * clone.
   */
  mergeBase(commit: string, other: string): string | undefined {
    return this.#maybe(["merge-base", commit, other]);
  }

  /** The remote's main branch, as `origin/trunk`. A clone of one branch does not know it. */
  mainOfRemote(): string | undefined {
    const fetched = this.#maybe(["config", "--get-all", "remote.origin.fetch"]);
    if (fetched?.includes("*") === false) return undefined;
    return this.#maybe(["symbolic-ref", "--quiet", "--short", "refs/remotes/origin/HEAD"]);
  }

  branch(): string | undefined {
    return this.#maybe(["symbolic-ref", "--quiet", "--short", "HEAD"]);
  }

  /** Says whether it lacks the history before some commits. */
  isShallow(): boolean {
    return this.#maybe(["rev-parse", "--is-shallow-repository"]) === "true";
  }

  /** Says whether a path in the folder is one that git is told to ignore. */
  ignores(path: string): boolean {
    return this.#maybe(["check-ignore", "--", path]) !== undefined;
  }

  /** The files of the folder in a commit, relative to it, with the hash of each text. */
  files(commit: string): [path: string, id: string][] {
    const folder = this.prefix === "" ? "." : this.prefix;
    const listing = ["ls-tree", "-r", "-z", "--full-tree", commit, "--", folder];
    const listed = git(this.folder, listing);
    return listed.split("\0").flatMap((entry): [string, string][] => {
      const [, id = "", path = ""] = /^\d+ blob (\w+)\t([^]+)$/.exec(entry) ?? [];
      const isHere = id !== "" && path.startsWith(this.prefix);
      return isHere ? [[path.slice(this.prefix.length), id]] : [];
    });
  }

  /** The texts of files by their hashes, as they are committed, by one call. */
  read(ids: readonly string[]): Map<string, string> {
    if (ids.length === 0) return new Map();
    const asked = ids.map((id) => `${id}\n`).join("");
    const answer = Buffer.from(git(this.folder, ["cat-file", "--batch"], asked), "latin1");
    let at = 0;
    // Each is `<hash> blob <bytes>`, a line end, so many bytes, and a line end.
    return new Map(
      ids.map((id) => {
        const end = answer.indexOf("\n", at);
        const size = Number(answer.toString("latin1", at, end).split(" ")[2]);
        if (!Number.isInteger(size)) throw new GitFailed(`git has no text of the hash ${id}`);
        at = end + 1 + size + 1;
        return [id, answer.toString("utf8", end + 1, at - 1)] as const;
      }),
    );
  }

  #maybe(args: readonly string[]): string | undefined {
    try {
      return git(this.folder, args).trim() || undefined;
    } catch (error) {
      if (error instanceof GitFailed) return undefined;
      throw error;
    }
  }
}

/** The folder says which repository is meant, whatever a hook of git has set for its own. */
const environment = {
  GIT_DIR: undefined,
  GIT_WORK_TREE: undefined,
  GIT_INDEX_FILE: undefined,
  GIT_PREFIX: undefined,
  GIT_OPTIONAL_LOCKS: "0",
  GIT_TERMINAL_PROMPT: "0",
  GIT_NO_LAZY_FETCH: "1",
  LC_ALL: "C",
};

/** @param input what it reads; then its answer is given byte by byte. */
function git(folder: string, args: readonly string[], input?: string): string {
  try {
    return execFileSync("git", ["-C", folder, "--no-pager", ...settings, ...args], {
      encoding: input === undefined ? "utf8" : "latin1",
      input,
      env: { ...process.env, ...environment },
      maxBuffer: 1 << 28,
      stdio: [input === undefined ? "ignore" : "pipe", "pipe", "pipe"],
    });
  } catch (cause) {
    throw new GitFailed(`git ${args[0]} failed: ${whyOf(cause)}`, { cause });
  }
}

/** What a repository's own settings could have git run. */
const settings = ["-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null"];

function whyOf(cause: unknown): string {
  const { stderr, message = "" } = cause as { stderr?: unknown; message?: string };
  const lines = typeof stderr === "string" && stderr.trim() !== "" ? stderr.trim() : message;
  const [, advice] = /^\t(git .*)$/m.exec(lines) ?? [];
  const why = (lines.split("\n")[0] ?? "").replace(/^fatal: /, "");
  return advice === undefined ? why : `${why}: to allow it, call \`${advice}\``;
}
