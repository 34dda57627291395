import { anyApi } from "convex/server";
import { expect, test } from "vitest";
import { LIMITS } from "../src/index.js";
import { countedApp } from "./app/index.js";

const tasks = anyApi["tasks"]!;
const MIB = 1024 * 1024;

test("eight calls below the outermost function are allowed, a ninth is refused by name", async () => {
  const { counter, t } = countedApp();
  await t.mutation(tasks["nest"]!, { levels: 8 });
  expect(counter.violations).toEqual([]);
  await expect(t.mutation(tasks["nest"]!, { levels: 9 })).rejects.toThrow(/tasks:nest.*9 levels/);
  expect(counter.violations).toMatchObject([
    { function: "tasks:nest", limit: "nesting", allowed: 8, actual: 9 },
  ]);
});

test("an array over the limit is refused in arguments, naming the function and the place", async () => {
  const { counter, t } = countedApp();
  const list = Array.from({ length: LIMITS.arrayLength }, () => 0);
  await t.action(tasks["echo"]!, { value: { list } });
  expect(counter.violations).toEqual([]);
  list.push(0);
  await expect(t.action(tasks["echo"]!, { value: [{ list }] })).rejects.toThrow(
    /"tasks:echo" .* an array of 8193 elements at value\[0\]\.list;.* 8192/,
  );
  expect(counter.violations).toMatchObject([{ function: "tasks:echo", limit: "arrayLength" }]);
});

test("an array over the limit is refused in results", async () => {
  const { counter, t } = countedApp();
  await expect(t.query(tasks["numbers"]!, { count: 8193 })).rejects.toThrow(/at found\.list/);
  expect(counter.violations).toMatchObject([{ function: "tasks:numbers", actual: 8193 }]);
});

test("arguments and results over 16 MiB are refused", { tags: ["large"] }, async () => {
  const { counter, t } = countedApp();
  await expect(t.query(tasks["bytes"]!, { size: 17 * MIB })).rejects.toThrow("returned a value of");
  const value = new ArrayBuffer(17 * MIB);
  await expect(t.action(tasks["echo"]!, { value })).rejects.toThrow("was called with arguments of");
  expect(counter.violations.map(({ limit }) => limit)).toEqual(["resultSize", "argumentsSize"]);
});

test("scheduling with arguments over 4 MiB is refused, naming the scheduled function", async () => {
  const { counter, t } = countedApp();
  const texts = ["x".repeat(5 * MIB)];
  await expect(t.mutation(tasks["scheduleAdd"]!, { texts, afterMs: 0 })).rejects.toThrow(
    /"tasks:add" was scheduled with arguments of \d+ bytes/,
  );
  expect(counter.violations).toMatchObject([
    { function: "tasks:add", limit: "scheduledArgumentsSize" },
  ]);
});

test("a violation is recorded even where the app catches the error", async () => {
  const { counter, t } = countedApp();
  await t.mutation(async (ctx) => {
    await ctx.runMutation(tasks["nest"]!, { levels: 8 }).catch(() => null);
  });
  expect(counter.violations).toHaveLength(1);
});

test("without limits nothing is refused", async () => {
  const { counter, t } = countedApp({ limits: false });
  await t.mutation(tasks["nest"]!, { levels: 12 });
  expect(counter.violations).toEqual([]);
});

test("convex-test's own limits of a transaction hold by default", async () => {
  const { t } = countedApp();
  const texts = Array.from({ length: 1001 }, () => "a");
  await expect(t.mutation(tasks["scheduleAdd"]!, { texts, afterMs: 1e9 })).rejects.toThrow(
    "Scheduled too many functions",
  );
});
