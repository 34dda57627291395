import type { Id } from "./component.js";
import type { TestApp } from "./harness.js";

/* Changes the component's tables as only the platform, or many runs, would. */

/** Adds so many records inside a node that to remove them takes several transactions. */
export async function clutter(app: TestApp, runId: string, node = "b"): Promise<void> {
  await app.inComponent(async (ctx) => {
    const record = {
      run: runId as Id<"runs">,
      createdAt: 0,
      stage: `${node}.x`,
      kind: "children",
      state: "completed",
    } as const;
    for (let n = 0; n < 1_500; n++)
      await ctx.db.insert("steps", { ...record, attempt: 1, startedAt: 0, endedAt: 0 });
  });
}

/**
 * A restore from a backup: no scheduled function that has not begun is there any more.
 * @param gone with false, they were only canceled. @returns how many there were.
 */
export async function restore(app: TestApp, { gone = true } = {}): Promise<number> {
  return await app.counter.uncounted(() =>
    app.inComponent(async (ctx) => {
      const jobs = await ctx.db.system.query("_scheduled_functions").collect();
      const lost = jobs.filter(({ state }) => state.kind === "pending");
      // Nobody but the platform deletes there, so no type allows it.
      const system = ctx.db as unknown as { delete(table: string, id: string): Promise<void> };
      for (const { _id } of lost) {
        await ctx.scheduler.cancel(_id);
        if (gone) await system.delete("_scheduled_functions", _id);
      }
      return lost.length;
    }),
  );
}
