/** @module-tag large */
import { beforeAll, expect, test, vi } from "vitest";
import { virtualTime } from "./app.js";
import { HostApp, loadHost } from "./host-app.js";
import { seeded } from "./seeded.js";

virtualTime();
beforeAll(loadHost);

test("no work waits for the end of one other: a slot serves the lanes of all slots in turn", async () => {
  const app = new HostApp();
  const random = vi.spyOn(Math, "random").mockImplementation(seeded(1));
  await app.setMaxParallelism(2);
  await app.enqueue({ label: "long", ms: 60_000 });
  await app.enqueue({ label: "short", ms: 200 });
  for (let n = 0; n < 40; n++) {
    // Its lane is drawn.
    random.mockReturnValue(n % 2 === 0 ? 0.25 : 0.75);
    await app.enqueue({ label: n % 2 === 0 ? "lane 0" : "lane 1", ms: 200 });
  }
  random.mockImplementation(seeded(2));
  await app.drive(3_000);
  const started = (await app.events("start")).map(({ label }) => label);
  for (const lane of ["lane 0", "lane 1"])
    expect(started.filter((label) => label === lane).length).toBeGreaterThan(3);
});
