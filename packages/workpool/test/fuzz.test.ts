import { describe, expect, test, vi } from "vitest";
import type { WorkId } from "../src/client/index.js";
import { ASKS_EVERY_MS } from "../src/core/index.js";
import { NOTHING_LEFT, TestApp, virtualTime } from "./app.js";
import { internal } from "./convex/_generated/api.js";
import type { Id } from "../src/component/_generated/dataModel.js";
import { seen } from "./convex/fuzz.js";
import { seeded } from "./seeded.js";

virtualTime();

const OPERATIONS = 5_000;
/**
 * convex-test reads all of its documents for each query, and keeps the scheduled functions: many
 * short runs take less than a long one.
 */
const SEEDS = 10;
/** Operations that share a transaction. */
const TOGETHER = 25;
const LONGEST_MS = 50;
/**
 * After so many timers it is looked whether a work waits though a slot is free: each time would
 * take long.
 */
const LOOK_EACH = 5;
const { ended, job, write } = internal.fuzz;
type Carried = { readonly key: number; readonly ms: number };

describe("a pool under random enqueues, cancels, failures, losses, pauses and time steps", () => {
  test.each(Array.from({ length: SEEDS }, (_, i) => i + 1))(
    `keeps its promises for ${OPERATIONS / SEEDS} operations: seed %i`,
    { tags: ["large"] },
    async (seed) => {
      const random = seeded(seed);
      // Which slot and which waiting work are picked is random too.
      vi.spyOn(Math, "random").mockImplementation(seeded(200 + seed));
      const late = seeded(100 + seed);
      // As if others had committed while a transaction went on.
      const isLate = seed % 2 === 0;
      const app = new TestApp({}, () => (isLate ? Math.floor(late() * 12) : 0));
      const upTo = (n: number) => Math.floor(random() * n);
      const ids: WorkId[] = [];
      const keys = new Map<string, number>();
      const attemptsAllowed = new Map<number, number>();
      let hanging = 0;
      let key = 0;
      let max = 4;
      /**
       * What it was lately: a slot that a lower one takes away goes when its work has ended, and
       * what began in it may still run.
       */
      let lately: { max: number; until: number }[] = [];
      Object.assign(seen, { ended: new Map(), attempts: new Map() });
      for (const set of [seen.running, seen.dead]) set.clear();
      let tooMany = 0;
      let most = 0;
      seen.onStart = (running) => {
        lately = lately.filter(({ until }) => until >= Date.now());
        if (running > Math.max(max, ...lately.map((one) => one.max)) + hanging) tooMany += 1;
        most = Math.max(most, running);
      };

      /**
       * How many times a work was seen to wait, and for how many ms one of them waited at most
       * while the same slot was free.
       */
      const waits = { seen: 0, besideFreeMs: 0 };
      let seenToWait = new Map<string, number>();
      let moments = 0;
      /** New slots do not say since when they are free. */
      let maxSetAt = Date.now();
      const lookForWaits = async () => {
        if (moments++ % LOOK_EACH !== 0) return;
        const { waiting, freeSince } = await app.inPool(async (ctx) => ({
          waiting: (await ctx.db.query("waiting").collect()).map((row) => row._id),
          freeSince: (await ctx.db.query("slots").collect()).flatMap((slot) =>
            slot.work === undefined && slot.number < max ? [slot.heldSince] : [],
          ),
        }));
        if (waiting.length > 0) waits.seen += 1;
        const now = Date.now();
        seenToWait = new Map(waiting.map((id) => [id, seenToWait.get(id) ?? now]));
        const firstFree = Math.max(maxSetAt, Math.min(now, ...freeSince));
        for (const since of seenToWait.values())
          waits.besideFreeMs = Math.max(waits.besideFreeMs, now - Math.max(since, firstFree));
      };

      const setMax = async (next: number) => {
        lately.push({ max, until: Date.now() + LONGEST_MS + 10 });
        max = next;
        await app.setMaxParallelism(next);
        maxSetAt = Date.now();
      };
      await setMax(4);

      /** What a function carries dies with it: one job that hangs, or all works of an executor. */
      const lose = async () => {
        if (hanging === 0) return;
        const functions = new Map<string, Carried[]>();
        const asking = new Set<string | undefined>();
        await app.inPool(async (ctx) => {
          for (const owner of await ctx.db.query("executors").collect())
            if (owner.asks) asking.add(owner.job);
          for (const { job, work } of await ctx.db.query("slots").collect()) {
            if (job === undefined || work === undefined) continue;
            const scheduled = await ctx.db.system.get("_scheduled_functions", job);
            // An owner that asks would go on to: only its works can die here.
            if (scheduled?.state.kind !== "inProgress" || asking.has(job)) continue;
            const { args } = (await ctx.db.get("works", work as Id<"works">))!;
            functions.set(job, [...(functions.get(job) ?? []), args as Carried]);
          }
        });
        for (const [carrier, works] of functions) {
          const hang = works.filter(({ ms }) => ms < 0);
          if (hang.length === 0) continue;
          await app.setJob(carrier, "failed");
          hanging -= hang.length;
          for (const { key } of works) {
            const name = `${key}/${seen.attempts.get(key)}`;
            seen.dead.add(name);
            seen.running.delete(name);
          }
        }
      };

      for (let done = 0; done < OPERATIONS / SEEDS; done += TOGETHER) {
        await app.t.mutation(async (ctx) => {
          for (let i = 0; i < TOGETHER; i++) {
            const what = upTo(100);
            const options = { onComplete: ended, context: { throws: upTo(10) === 0 } };
            const when = upTo(6) === 0 ? { runAfter: upTo(100) } : {};
            if (what < 15) {
              const attempts = 1 + upTo(3);
              const retry = { maxAttempts: attempts, initialBackoffMs: 20, base: 2 };
              const hangs = what === 0 && hanging < 2;
              if (hangs) hanging += 1;
              key += 1;
              attemptsAllowed.set(key, attempts);
              const args = { key, ms: hangs ? -1 : upTo(LONGEST_MS), fails: upTo(3) };
              const once = hangs ? {} : { retry };
              ids.push(
                await app.pool.enqueueAction(ctx, job, args, { ...options, ...when, ...once }),
              );
              keys.set(ids.at(-1)!, key);
            } else if (what < 58) {
              key += 1;
              attemptsAllowed.set(key, 1);
              ids.push(
                await app.pool.enqueueMutation(
                  ctx,
                  write,
                  { key, fails: upTo(3) === 0 },
                  { ...options, ...when },
                ),
              );
              keys.set(ids.at(-1)!, key);
            } else if (ids.length > 0) {
              await app.pool.cancel(ctx, ids[ids.length - 1 - upTo(Math.min(ids.length, 40))]!);
            }
          }
        });
        const what = upTo(25);
        if (what === 0) await setMax(upTo(7));
        if (what === 1) await lose();
        // What hangs was not begun yet, or is canceled: the count above is of those at most.
        if (what < 20) await app.drive(1 + upTo(200), lookForWaits);
        else if (what === 20) await app.drive(40_000, lookForWaits);
      }
      await setMax(5);
      for (let round = 0; round < 6; round++) {
        await app.drive(10_000);
        hanging = 2;
        await lose();
      }
      await app.driveOut();

      expect(tooMany).toBe(0);
      expect(waits.seen).toBeGreaterThan(0);
      // An executor's pause. With late snapshots it may ask in vain five times; then a drain looks,
      // and in the end it does so for sure.
      expect(waits.besideFreeMs).toBeLessThanOrEqual(ASKS_EVERY_MS * (isLate ? 6 : 1));
      expect(most).toBeGreaterThanOrEqual(4);
      expect(ids.length).toBeGreaterThan(OPERATIONS / SEEDS / 2);
      const notOnce = ids.filter((id) => seen.ended.get(id)?.length !== 1);
      expect(notOnce).toEqual([]);
      for (const [id, key] of keys) {
        const attempts = seen.attempts.get(key) ?? 0;
        expect(attempts).toBeLessThanOrEqual(attemptsAllowed.get(key)!);
        if (attempts === 0) expect(seen.ended.get(id)).toEqual(["canceled"]);
      }
      expect(await app.leftovers()).toEqual(NOTHING_LEFT);
      expect(app.counter.violations).toEqual([]);
    },
  );
});
