/** @module-tag large */
import { expect, test } from "vitest";
import { type Modules, useTestApp } from "./harness.js";

const modules: Modules = import.meta.glob(["./limited/**/*.{ts,js}", "!./limited/**/*.*.ts"]);
await Promise.all(Object.values(modules).map((load) => load()));
const use = useTestApp({ modules });

test("[S211] a run of another key does not wait for all that came before it", async () => {
  // More than the pool has slots.
  for (let n = 0; n < 40; n++) await use.app.start("owned", { name: "f" });
  await use.app.start("owned", { name: "late" });
  await use.app.drive();
  const log = await use.app.log();
  expect(log).toHaveLength(41);
  expect(log.indexOf("late")).toBeLessThan(20);
  await use.app.expectNothingLeft();
});
