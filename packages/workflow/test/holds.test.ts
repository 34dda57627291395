import { expect, test } from "vitest";
import { type Modules, useTestApp } from "./harness.js";

/* Attempts that ask a limit of their step to start nothing for a while. */

const modules: Modules = import.meta.glob(["./limited/**/*.{ts,js}", "!./limited/**/*.*.ts"]);
await Promise.all(Object.values(modules).map((load) => load()));
const use = useTestApp({ modules });

test("[S212] a step that throws a RetryAfter that holds its limit is tried again then, and others wait for it", async () => {
  const asked = await use.app.start("asksOften", { name: "first", times: 2 });
  await use.app.drive(async () => (await use.app.steps(asked)).includes("asked waiting"));
  await use.app.start("asksOften", { name: "other" });
  await use.app.advance(19_000);
  expect(await use.app.log()).toEqual(["begin first"]);
  await use.app.drive();
  expect(await use.app.status("asksOften", asked)).toMatchObject({ output: 3 });
  expect((await use.app.log()).toSorted()).toEqual(
    ["first", "first", "first", "other"].map((n) => `begin ${n}`),
  );
  await use.app.expectNothingLeft();
});

test("[S258] the next attempt begins when the step says, at the end of the limit's pause", async () => {
  // Pauses end at whole quarters of a second.
  await use.app.advance(350 - (Date.now() % 250));
  const id = await use.app.start("asksOften", { name: "it", times: 1 });
  await use.app.drive(async () => (await use.app.steps(id)).includes("asked waiting"));
  const [waiting] = (await use.app.status("asksOften", id))!.active;
  await use.app.drive();
  const [asked] = (await use.app.tree(id))[0]!.steps;
  expect(asked).toMatchObject({ state: "completed", beganAt: waiting!.dueAt });
  expect(asked!.queuedAt).toBe(asked!.beganAt);
});

test("[S212] an attempt that holds the limit is none of those of the retry policy", async () => {
  const error = await use.app.error("asksAndFails", { name: "it" });
  expect(error).toMatchObject({ message: "attempt 4", attempt: 4 });
});
