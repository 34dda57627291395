/** @module-tag large */
import { expect, test } from "vitest";
import { internal } from "./limited/_generated/api.js";
import { type Modules, useTestApp } from "./harness.js";

const modules: Modules = import.meta.glob(["./limited/**/*.{ts,js}", "!./limited/**/*.*.ts"]);
await Promise.all(Object.values(modules).map((load) => load()));
const use = useTestApp({ modules });
const start = async (workflow: string, name: string, priority?: string) =>
  await use.app.start(workflow, { name, priority });

test("[S210] the actions of a run go as if it had come to them earlier; a later attempt and a resumed run keep that, and children have it too", async () => {
  await start("plain", "first");
  for (const name of ["a", "b"]) await start("plain", name);
  await use.app.advance(3_000);
  await start("urgent", "little", "1s");
  const paused = await start("urgent", "paused", "50s");
  await start("urgent", "fails", "30s");
  await start("parent", "parent");
  await use.app.t.mutation(internal.manager.pause, { runId: paused });
  await use.app.t.mutation(internal.manager.resume, { runId: paused });
  await use.app.drive();
  expect(await use.app.log()).toEqual(
    "first, parent plain, paused, fails, a, fails, b, parent own, little".split(", "),
  );
  await use.app.expectNothingLeft();
});
