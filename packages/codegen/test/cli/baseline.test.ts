/** @module-tag large */
import { execFileSync } from "node:child_process";
import { mkdir, readFile, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeEach, expect, test, vi } from "vitest";
import { rm } from "../../../../scripts/folders.mjs";
import { unchangedSince } from "../../src/cache/last-compile.js";
import { refsState } from "../../src/git/refs.js";
import { app, useApp, workflowCodegen } from "./command.js";

useApp();

const definition = (step: string) => `import { defineWorkflow } from "@stepwise/workflow";
import { z } from "zod";
export const order = defineWorkflow({ input: z.object({}) })
  .step("${step}", { action: async () => 1 })
  .step("last", { query: () => 1 });
`;

let root = "";
let convex = "";

function git(...args: string[]): string {
  const identity = ["-c", "user.name=a", "-c", "user.email=a@b.c", "-c", "commit.gpgsign=false"];
  return execFileSync("git", ["-C", root, ...identity, ...args], {
    encoding: "utf8",
    stdio: ["ignore", "pipe", "ignore"],
  });
}

const write = (step: string) => writeFile(join(convex, "order.workflow.ts"), definition(step));
const generated = () => readFile(join(convex, "_workflows/order.ts"), "utf8");

async function commit(step: string): Promise<void> {
  await write(step);
  await workflowCodegen();
  git("add", "-A");
  git("commit", "--allow-empty", "-qm", step);
}

beforeEach(async () => {
  root = app();
  convex = join(root, "convex");
  await mkdir(convex);
  // The cache stands beside it.
  await writeFile(join(root, "package.json"), "{}");
  await writeFile(join(root, ".gitignore"), "node_modules");
  git("init", "-q", "-b", "main");
});

test(
  "after generate and a commit, a rename on a branch is compared with the main branch",
  { tags: ["large"] },
  async () => {
    await commit("charge");
    git("checkout", "-qb", "topic");
    await commit("bill");
    const { code, out } = await workflowCodegen("check");
    expect(out).toMatch(/^Compared with main \([0-9a-f]{7}\)\.$/m);
    expect(out).toContain("needs a rename: order › charge");
    expect(code).toBe(1);
    expect(JSON.parse((await workflowCodegen("check", "--json")).out)).toMatchObject({
      against: { from: expect.stringMatching(/^main \(/) },
      changes: [{ workflow: "order", node: "charge", compatibility: "rename" }],
    });
  },
);

test("generate warns of what check will say, each time", { tags: ["large"] }, async () => {
  await commit("charge");
  git("checkout", "-qb", "topic");
  await write("bill");
  for (const _ of [1, 2]) {
    const { code, err } = await workflowCodegen();
    expect(code).toBe(0);
    expect(err).toMatch(/^warning compared with main \(\w+\), needs a rename: order › charge/);
  }
});

test(
  "on the main branch itself it is compared with the commit before, and before a commit with that",
  { tags: ["large"] },
  async () => {
    await commit("charge");
    await write("bill");
    await workflowCodegen();
    expect((await workflowCodegen("check")).out).toMatch(/Compared with HEAD \(/);
    await commit("bill");
    const { code, out } = await workflowCodegen("check");
    expect(out).toMatch(/Compared with the commit before, HEAD~1 \(/);
    expect(out).toContain("needs a rename: order › charge");
    expect(code).toBe(1);
  },
);

test(
  "on the main branch with commits that are not pushed it is compared with what is",
  { tags: ["large"] },
  async () => {
    await commit("charge");
    git("update-ref", "refs/remotes/origin/main", "HEAD");
    await commit("bill");
    await commit("invoice");
    expect((await workflowCodegen("check")).out).toMatch(/Compared with origin\/main \(/);
  },
);

test(
  "four renames of a step that was never merged leave nothing",
  { tags: ["large"] },
  async () => {
    await commit("charge");
    git("checkout", "-qb", "topic");
    for (const step of ["bill", "invoice", "pay", "settle"]) {
      await write(step);
      await workflowCodegen();
    }
    const text = await generated();
    for (const step of ["bill", "invoice", "pay"]) expect(text).not.toContain(`"${step}"`);
    expect(text).toContain('removed("charge")');
    await write("charge");
    await workflowCodegen();
    expect(await generated()).not.toContain("removed(");
  },
);

test(
  "what other branches have merged meanwhile is not missed on this one",
  { tags: ["large"] },
  async () => {
    await commit("charge");
    git("checkout", "-qb", "topic");
    await commit("charge2");
    git("checkout", "-q", "main");
    await commit("other");
    git("checkout", "-q", "topic");
    const { out } = await workflowCodegen("check");
    expect(out).toContain("order › charge:");
    expect(out).not.toContain("other");
  },
);

test(
  "a project in a folder of the repository, at a detached commit, on a remote's own main branch",
  { tags: ["large"] },
  async () => {
    const inner = join(root, "packages/shop");
    convex = join(inner, "convex");
    await mkdir(convex, { recursive: true });
    const dir = ["--dir", "packages/shop/convex"];
    await write("charge");
    await workflowCodegen(...dir);
    git("add", "-A");
    git("commit", "-qm", "one");
    git("branch", "-q", "-m", "main", "trunk");
    git("update-ref", "refs/remotes/origin/trunk", "HEAD");
    git("symbolic-ref", "refs/remotes/origin/HEAD", "refs/remotes/origin/trunk");
    await write("bill");
    await workflowCodegen(...dir);
    git("add", "-A");
    git("commit", "-qm", "two");
    git("checkout", "-q", "--detach");
    const { out } = await workflowCodegen("check", ...dir);
    expect(out).toMatch(/Compared with origin\/trunk \(/);
    expect(out).toContain("order › charge");
  },
);

test(
  "--against takes a branch, a tag, a commit or a file, and nothing else",
  { tags: ["large"] },
  async () => {
    await commit("charge");
    git("tag", "v1");
    await commit("bill");
    await commit("bill");
    for (const ref of ["v1", "HEAD~1", git("rev-parse", "v1").trim()])
      expect((await workflowCodegen("check", "--against", ref)).out).toContain(
        `Compared with ${ref} (`,
      );
    const deployed = join(root, "deployed");
    git("worktree", "add", "--quiet", "--detach", deployed, "v1");
    const plan = join(deployed, "convex/_workflows");
    for (const path of [plan, join(plan, "plan.json")])
      expect((await workflowCodegen("check", "--against", path)).out).toMatch(
        /Compared with .*deployed/,
      );
    git("worktree", "remove", "--force", deployed);
    for (const wrong of ["nowhere", "--output=x", "HEAD:convex", "v1..HEAD", "$(touch x)"])
      await expect(workflowCodegen("check", `--against=${wrong}`)).rejects.toThrow(
        /There is no plan at .*, and no commit/,
      );
  },
);

test(
  "when there is nothing to compare with, it says so and what to do",
  { tags: ["large"] },
  async () => {
    await commit("charge");
    git("branch", "-q", "-m", "main", "topic");
    const none = await workflowCodegen("check");
    expect(none.out).toContain(
      "Compared with what was generated last, as there is no main branch here.",
    );
    expect(none.out).toContain("git fetch origin main");
    expect(none.code).toBe(0);
    git("branch", "-q", "-m", "topic", "main");
    const first = await workflowCodegen("check");
    expect(first.out).toContain("as there is no commit before it here");
  },
);

const noBaseline = /^error There is no baseline here: [^\n]*`--against <git ref or plan>`\.\n$/;

test.each([
  ["without a main branch", () => git("branch", "-q", "-m", "main", "topic")],
  ["without a repository", () => rename(join(root, ".git"), join(root, "gone"))],
])(
  "%s check fails where CI is set, compiled or unchanged, and --against mends it",
  async (_what, lose) => {
    await commit("charge");
    await lose();
    expect(await workflowCodegen("check")).toMatchObject({ code: 0, err: "" });
    vi.stubEnv("CI", "true");
    for (const _ of ["compiled", "unchanged"]) {
      const { code, err } = await workflowCodegen("check");
      expect({ code, err }).toEqual({ code: 2, err: expect.stringMatching(noBaseline) });
    }
    const json = await workflowCodegen("check", "--json");
    expect(json.code).toBe(2);
    expect(JSON.parse(json.out)).toMatchObject({ ok: false, against: { missing: {} } });
    const given = await workflowCodegen("check", "--against", join(convex, "_workflows"));
    expect(given).toMatchObject({ code: 0, err: "" });
  },
);

test(
  "in a shallow clone check fails without a baseline, on the main branch and on another one",
  { tags: ["large"] },
  async () => {
    await commit("charge");
    await commit("charge");
    const full = root;
    git("branch", "topic");
    root = join(full, "clone");
    const clone = (branch: string) =>
      execFileSync("git", ["clone", "-q", "--depth=1", "-b", branch, `file://${full}`, root], {
        stdio: "ignore",
      });
    for (const branch of ["main", "topic"]) {
      clone(branch);
      const dir = ["--dir", "clone/convex"];
      const { code, err } = await workflowCodegen("check", ...dir);
      expect({ code, err }).toEqual({ code: 2, err: expect.stringMatching(noBaseline) });
      expect(await workflowCodegen("check", ...dir, "--against", "HEAD")).toMatchObject({
        code: 0,
      });
      git("fetch", "-q", "--depth=2", "origin", "main:refs/remotes/origin/main");
      expect(await workflowCodegen("check", ...dir)).toMatchObject({ code: 0, err: "" });
      await rm(root, { recursive: true });
    }
  },
);

test(
  "a first commit passes where CI is set, on the main branch and on another one",
  { tags: ["large"] },
  async () => {
    vi.stubEnv("CI", "true");
    await writeFile(join(root, "README.md"), "#");
    git("add", "-A");
    git("commit", "-qm", "no workflow yet");
    git("checkout", "-qb", "topic");
    await commit("charge");
    expect(await workflowCodegen("check")).toMatchObject({ code: 0, err: "" });
    git("checkout", "-q", "--orphan", "first");
    await commit("charge");
    git("branch", "-q", "-M", "first", "main");
    const { code, out } = await workflowCodegen("check");
    expect(out).toContain("as there is no commit before it here");
    expect(code).toBe(0);
  },
);

test(
  "in a clone of one branch alone that is not taken for the main branch",
  { tags: ["large"] },
  async () => {
    await commit("charge");
    git("checkout", "-qb", "topic");
    await commit("bill");
    git("update-ref", "refs/remotes/origin/topic", "HEAD");
    git("symbolic-ref", "refs/remotes/origin/HEAD", "refs/remotes/origin/topic");
    git("config", "remote.origin.fetch", "+refs/heads/topic:refs/remotes/origin/topic");
    expect((await workflowCodegen("check")).out).toMatch(/Compared with main \(/);
    git("branch", "-D", "main");
    expect((await workflowCodegen("check")).out).toContain("git fetch origin main");
  },
);

test("what git advises is told when it refuses to read a repository of another owner", async () => {
  await commit("charge");
  vi.stubEnv("GIT_TEST_ASSUME_DIFFERENT_OWNER", "1");
  await rm(join(root, "node_modules"), { recursive: true });
  const checked = workflowCodegen("check");
  await expect(checked).rejects.toThrow(/call `git config --global --add safe\.directory /);
  vi.unstubAllEnvs();
});

test(
  "a main branch without workflows, or with a plan that is damaged, is told in one line",
  { tags: ["large"] },
  async () => {
    await writeFile(join(root, "README.md"), "#");
    git("add", "-A");
    git("commit", "-qm", "empty");
    git("checkout", "-qb", "topic");
    await commit("charge");
    const { code, out } = await workflowCodegen("check");
    expect(out).toMatch(/Compared with main \(\w+\), which has no workflows yet\./);
    expect(code).toBe(0);
    const plan = join(convex, "_workflows/plan.json");
    await writeFile(
      plan,
      (await readFile(plan, "utf8")).replace(/"version": \d+/, '"version": 99'),
    );
    git("commit", "-qam", "newer");
    await expect(workflowCodegen("check", "--against", "HEAD")).rejects.toThrow(
      /plan\.json of HEAD \(\w+\) is a plan of version 99/,
    );
  },
);

test(
  "a plan of an earlier version is no baseline, but what --against names must be read",
  { tags: ["large"] },
  async () => {
    await commit("charge");
    const plan = join(convex, "_workflows/plan.json");
    await writeFile(plan, (await readFile(plan, "utf8")).replace(/"version": \d+/, '"version": 1'));
    git("commit", "-qam", "older");
    await workflowCodegen("generate", "--force");
    const { code, out } = await workflowCodegen("check");
    expect(out).toContain("an earlier version of workflow-codegen wrote the plan of HEAD");
    expect(code).toBe(0);
    await expect(workflowCodegen("check", "--against", "HEAD")).rejects.toThrow(
      "plan of version 1",
    );
  },
);

test(
  "a folder of generated code that git ignores is said to be one, as there is nothing to compare",
  { tags: ["large"] },
  async () => {
    await writeFile(join(root, ".gitignore"), "node_modules\n_workflows\n");
    await commit("charge");
    git("checkout", "-qb", "topic");
    await commit("bill");
    for (const _ of ["compiled", "unchanged"])
      expect((await workflowCodegen("check")).out).toMatch(
        /Compared with main \(\w+\), which has no workflows yet\.\n  hint: git ignores _workflows, so no commit has a plan/,
      );
    vi.stubEnv("CI", "1");
    const { code, err } = await workflowCodegen("check");
    expect({ code, err }).toEqual({
      code: 2,
      err: expect.stringContaining("git ignores _workflows"),
    });
  },
);

test("nothing that the repository names is run", { tags: ["large"] }, async () => {
  await commit("charge");
  const ran = join(root, "ran");
  const program = join(root, "program.sh");
  await writeFile(program, `#!/bin/sh\ntouch "${ran}"\ncat "$1" 2>/dev/null\n`, { mode: 0o755 });
  for (const setting of [
    "core.fsmonitor",
    "diff.x.textconv",
    "filter.x.smudge",
    "core.pager",
    "diff.external",
  ])
    git("config", setting, program);
  await writeFile(join(root, ".gitattributes"), "* diff=x filter=x\n");
  await write("bill");
  await workflowCodegen();
  await workflowCodegen("check");
  await workflowCodegen("check", "--against", "HEAD");
  await expect(readFile(ran)).rejects.toThrow("ENOENT");
});

test(
  "whatever moves the baseline is seen by a check of files that have not changed",
  { tags: ["large"] },
  async () => {
    await commit("charge");
    await commit("charge");
    git("branch", "deployed", "HEAD~1");
    git("checkout", "-qb", "topic");
    await commit("bill");
    const kept = () => unchangedSince(convex)?.against.from;
    const moves: [string, () => unknown, RegExp][] = [
      ["another main branch", () => git("branch", "-f", "main", "deployed"), /^main \(/],
      ["packed", () => git("pack-refs", "--all"), /^main \(/],
      [
        "fetched",
        () => git("update-ref", "refs/remotes/origin/main", "deployed"),
        /^origin\/main \(/,
      ],
      [
        "the remote's own main branch",
        () => {
          git("update-ref", "refs/remotes/origin/trunk", "topic~1");
          git("symbolic-ref", "refs/remotes/origin/HEAD", "refs/remotes/origin/trunk");
        },
        /^origin\/trunk \(/,
      ],
      ["it has moved", () => git("update-ref", "refs/remotes/origin/trunk", "topic~2"), /trunk \(/],
      ["a commit", () => git("commit", "--allow-empty", "-qm", "more"), /trunk \(/],
      ["none checked out", () => git("checkout", "-q", "--detach"), /trunk \(/],
      ["a branch of that name", () => git("checkout", "-qb", "trunk"), /trunk \(/],
      [
        "no history",
        () => writeFile(join(root, ".git/shallow"), git("rev-parse", "topic")),
        /trunk \(/,
      ],
      [
        "no repository",
        () => rename(join(root, ".git"), join(root, "gone")),
        /there is no git repository$/,
      ],
    ];
    await workflowCodegen("check");
    for (const [name, move, from] of moves) {
      expect(kept(), name).toBeDefined();
      await move();
      expect(kept(), name).toBeUndefined();
      await workflowCodegen("check");
      expect(kept(), name).toMatch(from);
    }
  },
);

test(
  "of another working tree its own branch is looked at, and the main branch that all share",
  { tags: ["large"] },
  async () => {
    await commit("charge");
    git("worktree", "add", "-q", "-b", "topic", "other");
    const functionsDir = join(root, "other/convex");
    const before = refsState(functionsDir);
    git("-C", "other", "commit", "--allow-empty", "-qm", "there");
    const after = refsState(functionsDir);
    expect(after).not.toBe(before);
    expect(refsState(convex)).not.toContain("topic");
    await commit("bill");
    expect(refsState(functionsDir)).not.toBe(after);
  },
);
