import { expect } from "vitest";
import { compileSources } from "../../packages/codegen/src/compile.js";
import { compare } from "../../packages/codegen/src/compatibility/compare.js";
import type { Change } from "../../packages/codegen/src/compatibility/lines.js";
import type { WrittenPlan } from "../../packages/codegen/src/plan/schema.js";
import { toWritten } from "../../packages/codegen/src/plan/write.js";
import {
  Deployment,
  type Files,
  released,
  type Releases,
  type Seen,
  type Version,
} from "./deployed.js";

/** Compiles an app that was `before` when it was compiled last. */
export async function compiled(files: Files, before?: WrittenPlan) {
  const sources = Object.entries(files).map(([file, text]) => ({ file, text }));
  const { plan, diagnostics } = await compileSources(sources, before);
  const errors = diagnostics.filter(({ severity }) => severity === "error");
  return { plan: toWritten(plan), errors: errors.map(({ code, message }) => `${code} ${message}`) };
}

/** Returns what `check` says of an edit of an app that compiles before and after it. */
export async function changesOf(before: Files, now: Files): Promise<Change[]> {
  const was = await compiled(before);
  const is = await compiled(now, was.plan);
  expect([...was.errors, ...is.errors]).toEqual([]);
  return compare(was.plan, is.plan);
}

/** Returns what `check` says of an edit, a line for each change. */
export async function verdictOf(before: Files, now: Files): Promise<string[]> {
  return (await changesOf(before, now)).map(({ node, compatibility, message }) =>
    `${node ?? ""} ${compatibility}: ${message}`.trim(),
  );
}

/** Returns what a run of `flow` comes to if the edit is deployed when it is so many hours old. */
export async function endOf(
  versions: readonly [Version, Version],
  hours: number,
  input: object = {},
): Promise<Seen> {
  const deployment = new Deployment(versions[0], versions);
  const id = (await deployment.call("start", { name: "flow", input })) as string;
  await deployment.wait(hours * 3_600_000);
  deployment.deploy(versions[1]);
  await deployment.drive();
  expect(await deployment.pending()).toBe(0);
  return await deployment.see(id);
}

/**
 * Returns what `check` says of an edit, and what runs of `flow` give that it reaches after half an
 * hour, one and a half, and two and a half.
 */
export async function edited(releases: Releases, before: Files, now: Files) {
  const versions = await released(releases, before, now);
  const outputs: unknown[] = [];
  for (const hours of [0.5, 1.5, 2.5]) {
    const { state, output } = await endOf(versions, hours);
    outputs.push(state === "completed" ? output : state);
  }
  return { verdict: await verdictOf(before, now), outputs };
}
