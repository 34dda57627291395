import { convexToJson, type ObjectType, v, type Value } from "convex/values";
import { vGiven, vIsCollected } from "../validators.js";
import type { QueryCtx, Run } from "./documents.js";
import { stepRead } from "./steps.js";

/** The parsed input of a run, and what is parsed again if that is something else. */
export const inputFields = {
  input: v.any(),
  given: v.optional(vGiven),
  collected: v.optional(vIsCollected),
};
export type Input = ObjectType<typeof inputFields>;

/** Returns what a run keeps of its input. A large one is in a record of its own. */
export async function keptInput(
  ctx: QueryCtx,
  { _id, input, given, collected }: Run,
): Promise<Input> {
  if (input !== undefined) return { input, given, collected };
  const record = await stepRead(ctx, _id, { stage: "input" });
  return { input: record?.output ?? null, given: record?.given, collected };
}

/** Says whether a run has an input: one that was canceled while it collected has none. */
export async function hasInput(ctx: QueryCtx, { _id, input }: Run): Promise<boolean> {
  return input !== undefined || (await stepRead(ctx, _id, { stage: "input" })) !== null;
}

/**
 * Returns what views show of a run's input: what is sensitive is left out. A branch and a case have
 * none of their own, but see that of the run around them.
 */
export async function shownInput(ctx: QueryCtx, run: Run): Promise<unknown> {
  const { input } = await keptInput(ctx, run);
  const isOfAround = run.within !== undefined && input === null;
  const around = isOfAround && run.parentRun ? await ctx.db.get("runs", run.parentRun) : null;
  return around === null ? masked(input, run.sensitive) : await shownInput(ctx, around);
}

/** How many characters a line of it has. */
const BRIEF = 120;

/** The beginning of the same; undefined if the input is not in the run's own row, or empty. */
export function briefInput({ input, sensitive }: Run): string | undefined {
  const shown = masked(input, sensitive);
  if (shown === undefined || shown === null) return undefined;
  const text = JSON.stringify(convexToJson(shown as Value));
  // No half of a surrogate pair stays.
  return text === "{}" ? undefined : text.slice(0, BRIEF).replace(/[\ud800-\udbff]$/, "");
}

/** An input without what stands at its sensitive paths; undefined if that is all of it. */
function masked(input: unknown, sensitive: readonly string[] = []): unknown {
  if (sensitive.includes("input")) return undefined;
  return sensitive.reduce((shown, path) => without(shown, path.slice("input.".length)), input);
}

/** A copy without the fields at a path, which goes through lists. A name may have a dot in it. */
function without(value: unknown, path: string): unknown {
  if (Array.isArray(value)) return value.map((each) => without(each, path));
  if (typeof value !== "object" || value === null || value instanceof ArrayBuffer) return value;
  const others = Object.entries(value).filter(([name]) => name !== path);
  return Object.fromEntries(
    others.map(([name, field]) => {
      const isOnPath = path.startsWith(`${name}.`);
      return [name, isOnPath ? without(field, path.slice(name.length + 1)) : field];
    }),
  );
}
