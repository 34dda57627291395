import { describe, expect, test } from "vitest";
import type { Page, TimelineEntry } from "../src/index.js";
import { internal } from "./convex/_generated/api.js";
import { useTestApp } from "./harness.js";

const use = useTestApp();

async function timeline(name: string, runId: string): Promise<TimelineEntry[]> {
  const page = { numItems: 500, cursor: null };
  const found = await use.app.counter.uncounted(() =>
    use.app.t.query(internal.manager.steps, { name, runId, page }),
  );
  return (found as unknown as Page<TimelineEntry>).page;
}

describe("secrets", () => {
  test("[S97] what a child gives is as secret as the node of the child that made it", async () => {
    const id = await use.app.start("confides", {});
    await use.app.drive();
    expect(await use.app.status("confides", id)).toMatchObject({ output: 6 });
    const jobs = await use.app.inComponent(async (ctx) =>
      ctx.db.system.query("_scheduled_functions").collect(),
    );
    expect(JSON.stringify(jobs)).not.toContain("s3cret");
    expect(JSON.stringify(await timeline("confides", id))).not.toContain("s3cret");
  });
});
