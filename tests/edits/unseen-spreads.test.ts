/** @module-tag large */
import { afterAll, expect, test } from "vitest";
import { Releases, type Files } from "./deployed.js";

/* What the compiler must see, and cannot in a spread that is computed: the generated code says so. */

const releases = new Releases();
afterAll(async () => {
  await releases.remove();
});

const app = (options: string, nodes: string): Files => ({
  "policies.js": `
export const undone = { retry: true, compensate: { mutation: () => null } };
export const last = { finalize: { query: (_ctx, { children }) => children.length } };
export const handled = { query: () => 1, retry: undefined };
export const renaming = { timeout: "1h", renamed: { a: "b" } };
export const plain = { timeout: "1h", renamed: {} };
export const moved = { renamedFrom: "flew" };
const all = { undone, last, handled, renaming, plain, moved };
export const pick = (name) => all[name];
`,
  "flow.workflow.ts": `
import { child, defineWorkflow } from "@stepwise/workflow";
import { z } from "zod";
import * as policies from "./policies.js";
export const kid = defineWorkflow({ input: z.object({}) }).step("only", { query: () => 1 });
export const flow = defineWorkflow({ ${options} input: z.object({}) })${nodes};`,
});
const step = `.step("b", { action: () => 1 })`;

test.each([
  [
    "compensate",
    `.step("x", { ...policies.pick("undone"), action: () => 1 })`,
    "write it beside the spread: `compensate: { … }`",
  ],
  [
    "finalize",
    `.parent("x", { ...policies.pick("last"), children: () => [child(kid, {})] })`,
    "write it beside the spread: `finalize: { … }`",
  ],
  [
    "output",
    `.parent("x", { ...policies.pick("handled"), children: () => [child(kid, {})] })`,
    "write it beside the spread: `query: shared.query`, say",
  ],
])(
  "a %s in a spread that is not seen is refused, and what to write is said",
  async (part, node, hint) => {
    const loaded = releases.release(app("", node));
    await expect(loaded).rejects.toThrow(
      `it does not know "x.${part}" (if that comes from a spread, ${hint})`,
    );
  },
);

test(
  "a `renamed` in a spread that is not seen is refused; one that is written, or empty, is not",
  { tags: ["large"] },
  async () => {
    await expect(releases.release(app('...policies.pick("renaming"),', step))).rejects.toThrow(
      "it does not know its `renamed` (write it beside any spread",
    );
    const written = app(`...policies.pick("renaming"), renamed: { a: "b" },`, step);
    const before = app("", step.replace('"b"', '"a"'));
    expect(await releases.release(written, before)).toBeDefined();
    expect(await releases.release(app('...policies.pick("plain"),', step))).toBeDefined();
    await expect(releases.release(app('...policies.pick("moved"),', step))).rejects.toThrow(
      "it does not know its `renamedFrom` (write it beside any spread",
    );
  },
);

test("what a const of another file holds is seen in a spread", async () => {
  const undone = `.step("x", { ...policies.undone, action: () => 1 })`;
  const last = `.parent("p", { ...policies.last, children: () => [child(kid, {})] })`;
  const handled = `.parent("q", { ...policies.handled, children: () => [child(kid, {})] })`;
  const before = app("", step.replace('"b"', '"a"'));
  const after = app("...policies.renaming,", step + undone + last + handled);
  expect(await releases.release(after, before)).toBeDefined();
});
