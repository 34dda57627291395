import { describe, expect, test } from "vitest";
import type { WorkId } from "../src/client/index.js";
import { NOTHING_LEFT, TestApp, virtualTime } from "./app.js";
import { internal } from "./convex/_generated/api.js";
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

describe("a pool under random enqueues, cancels, failures, losses, pauses and time steps", () => {
  test.each(Array.from({ length: SEEDS }, (_, i) => i + 1))(
    `keeps its promises for ${OPERATIONS / SEEDS} operations: seed %i`,
    { tags: ["large"] },
    async (seed) => {
      const random = seeded(seed);
      const late = seeded(100 + seed);
      // As if others had committed while a transaction went on.
      const app = new TestApp({}, () => (seed % 2 === 0 ? Math.floor(late() * 12) : 0));
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
      Object.assign(seen, { running: 0, ended: new Map(), attempts: new Map() });
      let tooMany = 0;
      let most = 0;
      seen.onStart = (running) => {
        lately = lately.filter(({ until }) => until >= Date.now());
        if (running > Math.max(max, ...lately.map((one) => one.max)) + hanging) tooMany += 1;
        most = Math.max(most, running);
      };

      /**
       * How many times a work was seen to wait, and for how many ms one of them waited at most
       * while a slot was free.
       */
      const waits = { seen: 0, besideFreeMs: 0 };
      let besideFree = new Map<string, number>();
      let moments = 0;
      const lookForWaits = async () => {
        if (moments++ % LOOK_EACH !== 0) return;
        const { waiting, free } = await app.inPool(async (ctx) => ({
          waiting: (await ctx.db.query("waiting").collect()).map((row) => row._id),
          free: await ctx.db
            .query("slots")
            .withIndex("by_work", (q) => q.eq("work", undefined))
            .first(),
        }));
        if (waiting.length > 0) waits.seen += 1;
        const now = Date.now();
        besideFree = new Map(
          free === null ? [] : waiting.map((id) => [id, besideFree.get(id) ?? now]),
        );
        for (const since of besideFree.values())
          waits.besideFreeMs = Math.max(waits.besideFreeMs, now - since);
      };

      const setMax = async (next: number) => {
        lately.push({ max, until: Date.now() + LONGEST_MS + 10 });
        max = next;
        await app.setMaxParallelism(next);
      };
      await setMax(4);

      const lose = async () => {
        if (hanging === 0) return;
        await app.inPool(async (ctx) => {
          for (const slot of await ctx.db.query("slots").collect()) {
            if (slot.job === undefined) continue;
            const scheduled = await ctx.db.system.get("_scheduled_functions", slot.job);
            const args = scheduled?.args[0] as { args?: { ms: number } };
            if (scheduled?.state.kind !== "inProgress" || (args.args?.ms ?? 0) >= 0) continue;
            const patch = ctx.db.patch as unknown as (
              table: string,
              id: string,
              value: unknown,
            ) => Promise<void>;
            await patch("_scheduled_functions", slot.job, { state: { kind: "failed" } });
            seen.running -= 1;
            hanging -= 1;
          }
        });
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
      // A pause of the drain, and the time between two sweeps of this test.
      expect(waits.besideFreeMs).toBeLessThanOrEqual(50);
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
