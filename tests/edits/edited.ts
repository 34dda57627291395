import { expect, vi } from "vitest";
import { compileSources } from "../../packages/codegen/src/compile.js";
import { compare } from "../../packages/codegen/src/compatibility/compare.js";
import { toWritten } from "../../packages/codegen/src/plan/write.js";
import { Deployment, type Files, type Releases } from "./deployed.js";

/**
 * Returns what `check` says of an edit, and what runs of `flow` give that it reaches after half an
 * hour, one and a half, and two and a half.
 */
export async function edited(releases: Releases, before: Files, now: Files) {
  const plan = async (files: Files, last?: Parameters<typeof compileSources>[1]) => {
    const sources = Object.entries(files).map(([file, text]) => ({ file, text }));
    return toWritten((await compileSources(sources, last)).plan);
  };
  const was = await plan(before);
  const verdict = compare(was, await plan(now, was)).map(
    ({ node, compatibility, message }) => `${node ?? ""} ${compatibility}: ${message}`,
  );
  vi.useRealTimers();
  const versions = [await releases.release(before), await releases.release(now, before)] as const;
  vi.useFakeTimers();
  const outputs: unknown[] = [];
  for (const hours of [0.5, 1.5, 2.5]) {
    const deployment = new Deployment(versions[0], versions);
    const id = (await deployment.call("start", { name: "flow", input: {} })) as string;
    const at = Date.now() + hours * 3_600_000;
    const alarm = setTimeout(() => {}, hours * 3_600_000);
    await deployment.drive(() => Date.now() >= at);
    clearTimeout(alarm);
    deployment.deploy(versions[1]);
    await deployment.drive();
    expect(await deployment.pending()).toBe(0);
    const { state, output } = await deployment.see(id);
    outputs.push(state === "completed" ? output : state);
  }
  return { verdict, outputs };
}
