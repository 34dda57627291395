import { readFileSync } from "node:fs";
import { register as registerTheirs } from "@convex-dev/workpool/test";
import { Counter, vitestTimers } from "@stepwise/testing";
import { makeFunctionReference } from "convex/server";
import { describe, expect, test, vi } from "vitest";
import { register } from "../src/test.js";
import { virtualTime } from "./app.js";
import schema from "./drop-in/schema.js";

virtualTime();

const start = makeFunctionReference<"mutation", Record<string, never>, string[]>("app:start");
const states = makeFunctionReference<"query", { ids: string[] }, string[]>("app:states");
const stop = makeFunctionReference<"mutation">("app:stop");

/** Runs the app for two minutes, and gives what it has to show for it. */
async function runApp(which: "before" | "after") {
  const counter = new Counter();
  const t = counter.convexTest({
    schema,
    modules: {
      "./convex/_generated/api.js": async () => ({}),
      "./convex/app.js": async () =>
        which === "before"
          ? await import("./drop-in/before/app.js")
          : await import("./drop-in/after/app.js"),
    },
    transactionLimits: true,
  });
  if (which === "before") registerTheirs(t, "workpool");
  else register(t, "workpool");
  const drive = async (ms: number) => {
    const end = Date.now() + ms;
    setTimeout(() => {}, ms);
    await counter.drive({ timers: vitestTimers(vi), done: () => Date.now() >= end });
  };
  const ids = await t.mutation(start, {});
  await drive(60_000);
  const after = await t.query(states, { ids });
  await t.mutation(stop, {});
  await drive(120_000);
  const outcomes = await t.run((ctx) => ctx.db.query("outcomes").collect());
  const emails = await t.run((ctx) => ctx.db.query("emails").collect());
  const shown = outcomes.map(({ label, kind, value }) => JSON.stringify([label, kind, value]));
  return {
    ids: new Set(ids).size,
    states: after,
    outcomes: shown.sort(),
    attempts: emails.map(({ address, attempts }) => `${address} ${attempts}`).sort(),
  };
}

const EXPECTED = {
  ids: 9,
  states: Array<string>(10).fill("finished"),
  outcomes: [
    '["a","success","sent to a at attempt 1"]',
    '["add 1","written",1]',
    '["add 2","written",2]',
    '["b","success","sent to b at attempt 3"]',
    '["batch","failed",true]',
    '["c","failed",null]',
    '["count","success",null]',
    '["d","failed",null]',
    '["e","failed",null]',
    '["late","canceled",null]',
    '["stopped","canceled",null]',
  ],
  attempts: ["a 1", "b 3", "c 5", "d 1", "e 1"],
};

describe("an app that was written for @convex-dev/workpool", () => {
  test("is changed over by its imports alone", () => {
    const text = (which: string) =>
      readFileSync(new URL(`./drop-in/${which}/app.ts`, import.meta.url), "utf8");
    expect(text("after")).toBe(
      text("before").replaceAll("@convex-dev/workpool", "@stepwise/workpool"),
    );
  });

  test("does what it is to do with this pool", async () => {
    expect(await runApp("after")).toEqual(EXPECTED);
  });

  test("does the same with that one", { tags: ["large"] }, async () => {
    // Loading its modules takes real time, which virtual time does not wait for: so it is run until
    // none is left to load.
    let ran = await runApp("before");
    for (let i = 0; i < 20 && ran.states.some((state) => state !== "finished"); i++)
      ran = await runApp("before");
    expect(ran).toEqual(EXPECTED);
  });
});
