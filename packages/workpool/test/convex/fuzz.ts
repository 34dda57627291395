import { v } from "convex/values";
import { vOnCompleteArgs } from "../../src/client/index.js";
import { internalAction, internalMutation } from "./_generated/server.js";

/** What the fuzz sees of its works: in memory, as writing it down would take most of the time. */
export const seen = {
  /** The attempts that run, each by its key and number. */
  running: new Set<string>(),
  /** Attempts whose process has died: whatever they do, nobody hears of it. */
  dead: new Set<string>(),
  /** Calls when a work starts, with how many run then. */
  onStart: (_running: number): void => {},
  ended: new Map<string, string[]>(),
  attempts: new Map<number, number>(),
};

/** Takes `ms`, below 0 for ever, and fails `fails` times. */
export const job = internalAction({
  args: { key: v.number(), ms: v.number(), fails: v.number() },
  returns: v.null(),
  handler: async (_ctx, { key, ms, fails }): Promise<null> => {
    const attempt = (seen.attempts.get(key) ?? 0) + 1;
    seen.attempts.set(key, attempt);
    const name = `${key}/${attempt}`;
    seen.onStart(seen.running.add(name).size);
    await new Promise((resolve) => ms >= 0 && setTimeout(resolve, ms));
    if (seen.dead.has(name)) await new Promise(() => {});
    seen.running.delete(name);
    if (attempt <= fails) throw new Error("it fails");
    return null;
  },
});

export const write = internalMutation({
  args: { key: v.number(), fails: v.boolean() },
  returns: v.null(),
  handler: async (_ctx, { key, fails }): Promise<null> => {
    seen.attempts.set(key, (seen.attempts.get(key) ?? 0) + 1);
    if (fails) throw new Error("it fails");
    return null;
  },
});

export const ended = internalMutation({
  args: vOnCompleteArgs(v.object({ throws: v.boolean() })),
  returns: v.null(),
  handler: async (_ctx, { workId, context, result }): Promise<null> => {
    seen.ended.set(workId, [...(seen.ended.get(workId) ?? []), result.kind]);
    if (context.throws) throw new Error("the callback fails");
    return null;
  },
});
