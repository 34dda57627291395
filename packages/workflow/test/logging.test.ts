/** @module-tag large */
import type { FunctionArgs } from "convex/server";
import { convexTest } from "convex-test";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { WorkflowManager, type LogLevel } from "../src/index.js";
import { logEnded } from "../src/component/core/log.js";
import { testKit } from "../src/test.js";
import type { ComponentFunction } from "./component.js";
import { components, internal } from "./convex/_generated/api.js";
import { seeded } from "../../workpool/test/seeded.js";
import { workflows } from "./convex/_workflows/index.js";
import componentSchema from "../src/component/schema.js";
import type { MutationCtx } from "../src/component/_generated/server.js";
import schema from "./convex/schema.js";
import { dying, type Faults, TestApp, useTestApp } from "./harness.js";

// Pools of up to 200: on the smallest class works would share actions, of which carriers.test.ts is.
const use = useTestApp({ deploymentClass: "s256" });

/** As a user's test has them; see `harness.ts`. */
const modules = import.meta.glob(["./convex/**/*.{ts,js}", "!./convex/**/*.*.ts"]);

const METHODS = ["debug", "info", "warn", "error"] as const;
const LEVELS: readonly LogLevel[] = ["DEBUG", "TRACE", "INFO", "REPORT", "WARN", "ERROR"];
const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

type Line = Record<string, unknown> & { event: string };
/** The lines of the component, each with the console's method, in their order. */
let lines: (Line & { by: (typeof METHODS)[number] })[] = [];
/** All that was printed. */
let printed = "";

beforeEach(() => {
  lines = [];
  printed = "";
  for (const by of METHODS)
    vi.spyOn(console, by).mockImplementation((first: unknown) => {
      const text = String(first);
      printed += text;
      if (!text.startsWith("{")) return;
      const { component, ...line } = JSON.parse(text) as Line;
      expect(component).toBe("workflow");
      expect(text.length).toBeLessThan(4_096);
      lines.push({ ...line, by });
    });
});
afterEach(() => void vi.restoreAllMocks());

const events = () => lines.map(({ event }) => event);
const told = (event: string) => lines.filter((line) => line.event === event);

async function setLevel(logLevel: LogLevel, app = use.app): Promise<void> {
  await app.t.mutation(components.workflow.config.update, { logLevel });
}

async function start(name: string, input: unknown, app = use.app): Promise<string> {
  return await app.start(name, input);
}

type StartArgs = FunctionArgs<typeof internal.manager.start>;
async function startBy(args: StartArgs): Promise<string> {
  return await use.app.t.mutation(internal.manager.start, args);
}

async function run(name: string, input: unknown, faults?: Faults): Promise<string> {
  const app = faults === undefined ? use.app : new TestApp(faults);
  const runId = await start(name, input, app);
  await app.drive();
  return runId;
}

describe("at INFO", () => {
  beforeEach(async () => await setLevel("INFO"));

  test("a run is logged as it starts and as it ends, and none of its steps", async () => {
    const runId = await start("sleeps", { ms: HOUR });
    const of = { by: "info", runId, workflow: "sleeps" };
    expect(lines).toEqual([{ ...of, event: "started" }]);
    const begun = Date.now();
    await use.app.drive(async () => (await use.app.status("sleeps", runId))?.state === "completed");
    expect(lines.slice(1)).toEqual([
      { ...of, event: "ended", state: "completed", durationMs: Date.now() - begun },
    ]);
  });

  test("one that is put off is logged when it begins", async () => {
    const runId = await startBy({ name: "echo", input: { value: 1 }, runAfter: HOUR });
    expect(lines).toEqual([]);
    await use.app.drive();
    expect(lines).toMatchObject([
      { event: "started", runId },
      { event: "ended", runId, durationMs: 0 },
    ]);
  });

  test("one that is canceled ends at this level too: somebody wanted it", async () => {
    const runId = await start("sleeps", { ms: HOUR });
    await use.app.advance(MINUTE);
    await use.app.t.mutation(internal.runs.cancel, { runId });
    expect(told("ended")).toEqual([
      {
        by: "info",
        event: "ended",
        runId,
        workflow: "sleeps",
        state: "canceled",
        durationMs: MINUTE,
      },
    ]);
  });

  test("one that is restarted starts and ends again, with its generation", async () => {
    const runId = await run("echo", { value: 1 });
    await use.app.t.mutation(internal.manager.restart, { name: "echo", runId });
    await use.app.drive();
    expect(lines.map(({ event, generation }) => [event, generation])).toEqual([
      ["started", undefined],
      ["ended", undefined],
      ["started", 2],
      ["ended", 2],
    ]);
  });

  test("a start that gives a run which is there already is none", async () => {
    for (let i = 0; i < 2; i++) await startBy({ name: "echo", input: { value: 1 }, key: "k" });
    expect(events()).toEqual(["started"]);
  });

  test(
    "of a batch the first 100 are logged, and how many more there are",
    { tags: ["large"] },
    async () => {
      const inputs = Array.from({ length: 150 }, (_, n) => ({ n }));
      await use.app.t.mutation(internal.manager.startBatch, { name: "leaf", inputs });
      expect(lines).toHaveLength(101);
      expect(lines.at(-1)).toEqual({ by: "info", event: "started", workflow: "leaf", more: 50 });
      lines = [];
      await use.app.drive();
      expect(lines).toHaveLength(150);
    },
  );

  test(
    "more children than a log has lines write none of their own",
    { tags: ["large"] },
    async () => {
      await use.app.t.mutation(components.workflow.config.update, { maxParallelism: 100 });
      await run("gathered", { n: 300 });
      expect(events()).toEqual(["started", "ended"]);
    },
  );

  test("nor do children that are canceled with their run", async () => {
    const runId = await start("list", { leaves: [1, 2, 3].map((n) => ({ n, ms: HOUR })) });
    await use.app.advance(MINUTE);
    await use.app.t.mutation(internal.runs.cancel, { runId });
    expect(events()).toEqual(["started", "ended"]);
  });

  test("a run whose start was not logged ends without a word, though it does so at this level", async () => {
    await setLevel("WARN");
    await start("sleeps", { ms: HOUR });
    await setLevel("INFO");
    await use.app.drive();
    expect(lines).toEqual([]);
  });

  test("and one whose start was logged, at another", async () => {
    await start("sleeps", { ms: HOUR });
    await setLevel("WARN");
    await use.app.drive();
    expect(events()).toEqual(["started"]);
  });
});

describe("at the level that there is at first", () => {
  test("what goes well is not logged", async () => {
    await run("kinds", { n: 1 });
    await run("list", { leaves: [{ n: 1 }] });
    await run("echo", { value: 1 });
    expect(printed).toBe("");
  });

  test("[S31] an attempt that failed and is tried again is a warning; the last one is the run's end", async () => {
    const begun = Date.now();
    const runId = await start("flaky", { goodAttempt: 9 });
    await use.app.drive();
    const of = { by: "warn", runId, workflow: "flaky", node: "attempt", kind: "thrown" };
    const [top] = await use.app.tree(runId);
    expect(lines).toEqual([
      ...[1, 2, 3].map((attempt) => ({
        ...of,
        event: "retrying",
        attempt,
        message: `attempt ${attempt} failed`,
        retryAt: expect.any(Number),
      })),
      {
        ...of,
        event: "ended",
        state: "failed",
        durationMs: (top?.endedAt ?? 0) - begun,
        attempt: 4,
        message: "attempt 4 failed",
      },
    ]);
    const [first] = told("retrying");
    expect(first?.["retryAt"]).toBeGreaterThanOrEqual(begun + 500);
    expect(first?.["retryAt"]).toBeLessThan(begun + 1_500);
  });

  test("[S41] a run whose time was over", async () => {
    const runId = await run("sleepy", { ms: 1, text: "" });
    expect(lines).toEqual([]);
    const late = await start("tooLong", { ms: 2 * HOUR });
    expect(late).not.toBe(runId);
    await use.app.drive();
    expect(told("ended")).toMatchObject([
      { by: "warn", state: "timedOut", kind: "timedOut", message: expect.stringContaining("1h") },
    ]);
  });

  test(
    "[S48] a child that failed tells why; the run above it, which child it was",
    { tags: ["large"] },
    async () => {
      const root = await run("list", {
        leaves: [
          { n: 0, ms: HOUR },
          { n: 1, fails: true },
        ],
      });
      const common = { by: "warn", event: "ended", state: "failed" };
      expect(lines).toMatchObject([
        {
          ...common,
          root,
          workflow: "leaf",
          node: "work",
          kind: "thrown",
          message: "leaf 1 fails",
        },
        {
          ...common,
          runId: root,
          workflow: "list",
          node: "all",
          kind: "childFailed",
          key: "1",
          message: 'Child 1 of "all" (leaf) failed',
          cause: { kind: "thrown", workflow: "leaf", node: "work" },
        },
      ]);
      expect(lines[0]?.["runId"]).not.toBe(root);
      expect(lines[1]).not.toHaveProperty("root");
    },
  );

  test("[S54] of a failure far below the innermost cause is told, on each level", async () => {
    await run("grandparent", { leaves: [{ n: 3, fails: true }] });
    const cause = { kind: "thrown", workflow: "leaf", node: "work" };
    expect(lines.map(({ workflow, cause: told }) => [workflow, told])).toEqual([
      ["leaf", undefined],
      ["list", cause],
      ["grandparent", cause],
    ]);
  });

  test("[S17] a child whose input was refused never began, and only the run above tells of it", async () => {
    await run("badChild", {});
    expect(lines).toMatchObject([
      { event: "ended", workflow: "badChild", cause: { kind: "invalidInput", workflow: "leaf" } },
    ]);
  });

  test("[S49] a child that failed and was let pass is a warning, and all of it", async () => {
    await run("allTolerated", { of: 3 });
    const ends = told("ended");
    expect(ends.length).toBeGreaterThan(0);
    expect(new Set(ends.map(({ workflow }) => workflow))).not.toContain("allTolerated");
  });

  test("[S107] an action that was lost, and then is tried again", async () => {
    const runId = await run("flaky", { goodAttempt: 2 }, dying(1));
    const of = { by: "warn", runId, workflow: "flaky", node: "attempt", attempt: 1, kind: "lost" };
    const message = expect.stringContaining("Its action was lost");
    expect(lines).toEqual([
      { ...of, event: "lost", message },
      { ...of, event: "retrying", message, retryAt: expect.any(Number) },
    ]);
  });

  test("[S94] a compensation that failed for good is an error, before the end", async () => {
    const runId = await run("saga", { fail: "undo" });
    expect(lines.map(({ by, event, node }) => [by, event, node])).toEqual([
      ["warn", "retrying", "charge.compensate"],
      ["error", "compensationFailed", "charge.compensate"],
      ["warn", "ended", "ship"],
    ]);
    expect(told("compensationFailed")).toMatchObject([
      { runId, workflow: "saga", attempt: 2, kind: "thrown", message: "cannot undo" },
    ]);
  });

  test("[S101] an onComplete that threw", async () => {
    const runId = await startBy({
      name: "echo",
      input: { value: "x" },
      context: { throws: "yes" },
    });
    await use.app.drive();
    expect(lines).toEqual([
      {
        by: "error",
        event: "onCompleteFailed",
        runId,
        workflow: "echo",
        message: expect.stringContaining("the callback fails"),
      },
    ]);
  });

  test("[S109] a completion that failed for good, of an action", async () => {
    const settle: Faults["settle"] = ({ outcome }) => outcome.kind === "success";
    const runId = await run("afterAction", { megabytes: 1 }, { settle });
    const message = expect.stringContaining("injected");
    const of = { runId, workflow: "afterAction", node: "fetched", attempt: 1, message };
    expect(lines).toMatchObject([
      { ...of, by: "error", event: "completionFailed" },
      { ...of, by: "warn", event: "ended", state: "failed" },
    ]);
  });

  test("[S109] and of what went on with a run", async () => {
    const runId = await run("sleeps", { ms: 0 }, { settle: () => true });
    const message = expect.stringContaining("could not go on");
    expect(lines).toMatchObject([
      { by: "error", event: "completionFailed", runId, node: "before", message },
      { by: "warn", event: "ended", runId, state: "failed" },
    ]);
  });
});

describe("levels", () => {
  const all = ["started", "retrying", "retrying", "compensationFailed", "ended"];
  const warnings = ["retrying", "retrying", "compensationFailed", "ended"];
  const expected: Record<LogLevel, string[]> = {
    DEBUG: all,
    TRACE: all,
    INFO: all,
    REPORT: warnings,
    WARN: warnings,
    ERROR: ["compensationFailed"],
  };

  test.each(LEVELS)("%s logs what it should, and no more", async (level) => {
    await setLevel(level);
    await use.app.start("saga", { fail: "undo" });
    await use.app.drive();
    // One retry is of the compensation; another run has one of its own.
    expect(events().filter((event) => event !== "retrying")).toEqual(
      expected[level].filter((event) => event !== "retrying"),
    );
    expect(told("retrying")).toHaveLength(expected[level].includes("retrying") ? 1 : 0);
  });

  test("the manager's is applied by the next start after it has changed, and config.update's stands until then", async () => {
    const startWith = async (logLevel?: LogLevel) => {
      lines = [];
      const manager = new WorkflowManager(components.workflow, logLevel ? { logLevel } : {});
      await use.app.t.mutation((ctx) => manager.start(ctx, workflows.echo, { value: 1 }));
      return events();
    };
    expect(await startWith()).toEqual([]);
    expect(await startWith("INFO")).toEqual(["started"]);
    await setLevel("ERROR");
    expect(await startWith("INFO")).toEqual([]);
    expect(await startWith()).toEqual([]);
    expect(await startWith("DEBUG")).toEqual(["started"]);
  });

  test("set alone, it leaves maxParallelism as it is, and the other way round", async () => {
    const update = async (config: { maxParallelism?: number; logLevel?: LogLevel }) =>
      await use.app.t.mutation(components.workflow.config.update, config);
    await update({ maxParallelism: 3 });
    await update({ logLevel: "WARN" });
    await update({ maxParallelism: 4 });
    await update({});
    const gate = await use.app.inComponent(async (ctx) => await ctx.db.query("gate").first());
    expect(gate).toMatchObject({ maxParallelism: 4, logLevel: "WARN" });
  });

  test("a manager with a level that there is not is refused at once, and so is an update", async () => {
    const unknown = { logLevel: "LOUD" as LogLevel };
    expect(() => new WorkflowManager(components.workflow, unknown)).toThrow(
      'logLevel is "LOUD": it must be one of DEBUG, TRACE, INFO, REPORT, WARN, ERROR',
    );
    await expect(setLevel("LOUD" as LogLevel)).rejects.toThrow("LOUD");
  });

  test("tests with the kit are so from their first call, though it is one of the app", async () => {
    for (const logLevel of ["ERROR", "WARN"] as const) {
      printed = "";
      const t = convexTest({ schema, modules, transactionLimits: true });
      testKit(t, vi, logLevel === "ERROR" ? {} : { logLevel });
      const manager = new WorkflowManager(components.workflow, { maxParallelism: 100 });
      await t.mutation(async (ctx) => await manager.start(ctx, workflows.leaf, { n: 1 }));
      expect(printed.includes("maxParallelism is 100")).toBe(logLevel === "WARN");
    }
  });

  test(
    "tests with the kit are quiet, but for errors; unless they say otherwise",
    { tags: ["large"] },
    async () => {
      for (const logLevel of [undefined, "WARN"] as const) {
        lines = [];
        const t = convexTest({ schema, modules, transactionLimits: true });
        const kit = testKit(t, vi, logLevel === undefined ? {} : { logLevel });
        const runId = await kit.start(workflows.saga, { fail: "undo" });
        expect(await kit.runToEnd(workflows.saga, runId)).toMatchObject({ state: "failed" });
        expect(events()).toEqual(
          logLevel === undefined
            ? ["compensationFailed"]
            : ["retrying", "compensationFailed", "ended"],
        );
      }
    },
  );
});

describe("secrets", () => {
  const places = {
    action: ["retrying", "compensationFailed", "ended"],
    mutation: ["compensationFailed", "ended"],
    args: ["compensationFailed", "ended"],
    open: ["compensationFailed", "ended"],
  };

  test.each(Object.entries(places))(
    "[S97] nothing of a sensitive node is logged: it fails in its %s",
    async (fails, expected) => {
      await setLevel("DEBUG");
      await run("whispers", { fails });
      expect(events()).toEqual(["started", ...expected]);
      expect(printed).not.toContain("s3cret");
      const ended = told("ended")[0];
      if (fails === "open") expect(ended).toMatchObject({ node: "open", message: "in the open" });
      else
        expect(ended).toMatchObject({
          kind: "thrown",
          node: expect.any(String),
          attempt: expect.any(Number),
        });
      expect("message" in (ended ?? {})).toBe(fails === "open");
    },
  );

  test.each(Object.keys(places))("[S97] nor by the run above it: %s", async (fails) => {
    await setLevel("DEBUG");
    await run("aboveWhispers", { fails });
    expect(told("ended").at(-1)).toMatchObject({
      workflow: "aboveWhispers",
      message: 'Child 0 of "all" (whispers) failed',
      cause: { kind: "thrown", workflow: "whispers" },
    });
    expect(printed).not.toContain("s3cret");
  });

  test.each(["completionFailed", "lost"])("[S97] nor of one that is %s", async (event) => {
    const leaks: Faults["settle"] = ({ slot, outcome }) => {
      if (slot === undefined || (event !== "lost" && outcome.kind === "failed")) return false;
      throw new Error("the value s3cret could not be stored");
    };
    const fails = (name: ComponentFunction) => event === "lost" && name === "lib:keep";
    const runId = await run("whispers", { fails: "open" }, { settle: leaks, fails });
    expect(told(event)[0]).toEqual({
      by: event === "lost" ? "warn" : "error",
      event,
      runId,
      workflow: "whispers",
      node: "tried",
      attempt: 1,
      kind: event === "lost" ? "lost" : "thrown",
    });
    expect(lines.every((line) => !JSON.stringify(line).includes("s3cret"))).toBe(true);
  });

  test.each([
    ["its result", "endsInSecret", {}],
    ["its error", "whispers", { fails: "action" }],
  ])(
    "[S97] [S101] nor what an onComplete says that was given a secret, as %s",
    async (_as, name, input) => {
      await startBy({ name, input, context: { throws: "yes" } });
      await use.app.drive();
      expect(told("onCompleteFailed")).toEqual([
        { by: "error", event: "onCompleteFailed", runId: expect.any(String), workflow: name },
      ]);
      expect(printed).not.toContain("s3cret");
    },
  );

  /**
   * Everything that the component and the app store, and the arguments of all functions that were
   * scheduled.
   */
  const stored = async (app: TestApp) => {
    const all = async (ctx: MutationCtx, tables: readonly string[]) =>
      await Promise.all(tables.map(async (table) => await ctx.db.query(table as "runs").collect()));
    const kept = await app.inComponent(async (ctx) => [
      await all(ctx, Object.keys(componentSchema.tables)),
      await ctx.db.system.query("_scheduled_functions").collect(),
    ]);
    const jobs = await app.t.run(
      async (ctx) => await ctx.db.system.query("_scheduled_functions").collect(),
    );
    return JSON.stringify([kept, jobs]);
  };

  describe.each(["throwsSecrets", "aboveSecrets"])("%s", (name) => {
    test.each(["thrown", "data", "nonRetryable", "recover", "mutation"])(
      "[S97] what the error of a sensitive node says is nowhere to be found: %s",
      { tags: ["large"] },
      async (as) => {
        await setLevel("DEBUG");
        // Without faults; and with an action that cannot complete, so that the component keeps its
        // report.
        for (const faults of [0, 2]) {
          let left = faults;
          const app = new TestApp({ settle: ({ slot }) => slot !== undefined && left-- > 0 });
          const context = { throws: "all" };
          const runId = await app.t.mutation(internal.manager.start, {
            name,
            input: { as },
            context,
          });
          await app.drive();
          const status = await app.status(name, runId);
          expect(status).toMatchObject({ state: "failed", onCompleteError: expect.any(String) });
          expect(JSON.stringify(status)).toContain("not shown, as the node is sensitive");
          expect(await stored(app)).not.toContain("s3cret");
          expect(printed).not.toContain("s3cret");
        }
      },
    );
  });

  test("where a value fits no validator, Convex says which it is: that part is left out", async () => {
    const t = convexTest({ schema, modules, transactionLimits: true });
    const kit = testKit(t, vi, { logLevel: "WARN" });
    const refused = "ArgumentValidationError: Value does not match validator.\nPath: .word";
    kit.stub(workflows.leaf, "work", () => {
      throw new Error(`${refused}\nValue: "s3cret"\nValidator: v.number()`);
    });
    const runId = await kit.start(workflows.leaf, { n: 1 });
    expect(await kit.runToEnd(workflows.leaf, runId)).toMatchObject({ state: "failed" });
    expect(told("ended")).toMatchObject([{ kind: "thrown", message: refused }]);
  });

  test("inputs, results and the data of errors are in no line", async () => {
    await setLevel("DEBUG");
    await run("echo", { value: "an input and a result" });
    await run("thirdFails", {});
    expect(told("ended")).toHaveLength(2);
    expect(printed).not.toContain("an input");
    expect(lines.every((line) => !("data" in line))).toBe(true);
  });

  test("a message that is very long is cut: a line of a function's log is", async () => {
    await run("reason", { bytes: 100_000 });
    expect(told("ended")[0]?.["message"]).toHaveLength(1_000);
  });
});

describe("costs", () => {
  /** What a run takes in all, but for its watchdog. */
  async function cost(level: LogLevel, name: string, input: unknown) {
    // Both levels get the same slots: one that is taken meanwhile costs more.
    const random = seeded(1);
    vi.spyOn(Math, "random").mockImplementation(() => random());
    const app = new TestApp();
    await setLevel(level, app);
    await app.run("echo", { value: 1 });
    app.counter.clear();
    await app.run(name, input);
    const { documentsRead, documentsWritten } = app.counter.totals(
      (call) => !call.name.startsWith("watchdog:"),
    );
    return { documentsRead, documentsWritten };
  }

  const runs = [
    ["kinds", { n: 1 }],
    ["sleeps", { ms: 1 }],
    ["isolated", {}],
    ["single", { n: 1, fails: false }],
    ["list", { leaves: [{ n: 1 }, { n: 2 }] }],
  ] as const;

  test.each(runs)(
    "where it is logged how %s begins and ends: one write, and a read at most",
    async (name, input) => {
      const [quiet, loud] = [await cost("ERROR", name, input), await cost("INFO", name, input)];
      // A document is read before it is written.
      expect(loud.documentsWritten - quiet.documentsWritten).toBe(1);
      expect(loud.documentsRead - quiet.documentsRead).toBeLessThanOrEqual(1 + 1);
    },
  );

  test("an end that goes well, of a run whose start was not logged, asks nothing", async () => {
    const runId = await run("echo", { value: 1 });
    const queries = await use.app.inComponent(async (ctx) => {
      const ended = (await ctx.db.query("runs").collect()).find(({ _id }) => _id === runId);
      const used = async () => (await ctx.meta.getTransactionMetrics()).databaseQueries.used;
      const before = await used();
      await logEnded(ctx, ended!, { state: "completed" });
      const quiet = await used();
      await logEnded(ctx, { ...ended!, logged: true }, { state: "completed" });
      return { quiet: quiet - before, asked: (await used()) - quiet };
    });
    expect(queries).toEqual({ quiet: 0, asked: 1 });
  });

  test("the gate is never written for the log", async () => {
    const gates = new Set<string>();
    const app = new TestApp({ writes: (_args, document) => void gates.add(document) });
    await setLevel("DEBUG", app);
    const gate = await app.inComponent(async (ctx) => await ctx.db.query("gate").first());
    await app.run("flaky", { goodAttempt: 3 });
    expect(told("retrying")).toHaveLength(2);
    expect(gates).not.toContain(gate?._id);
  });
});
