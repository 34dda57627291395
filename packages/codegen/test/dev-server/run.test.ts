/** @module-tag large */
import { existsSync } from "node:fs";
import { readdir, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { mkdtemp, rm } from "../../../../scripts/folders.mjs";
import { ProgressLines } from "../../src/cli/progress.js";
import { type RunEvent, type RunWorkflowOptions, runWorkflow } from "../../src/dev-server/index.js";
import { convexConfig, type TestApp, writeApp } from "./app.js";

const FLOWS = `
  import { child, defineWorkflow } from "@stepwise/workflow";
  import { z } from "zod";
  import { internal } from "./_generated/api";

  export const flaky = defineWorkflow({ input: z.object({ failures: z.number() }) }).step("work", {
    action: async (_ctx, { input }, info) => {
      console.log("attempt", info.attempt);
      if (info.attempt <= input.failures) throw new Error("no luck at attempt " + info.attempt);
      return { attempts: info.attempt };
    },
    retry: { maxAttempts: 3, initialBackoffMs: 3_600_000, base: 2 },
  });

  export const family = defineWorkflow({ input: z.object({ sizes: z.array(z.number()) }) })
    .parent("members", {
      children: ({ input }) => input.sizes.map((failures) => child(flaky, { failures })),
      finalize: {
        mutation: async (_ctx, { children }) => children.map(({ attempts }) => attempts),
      },
    });

  export const reader = defineWorkflow({ input: z.object({ file: z.object({ id: z.string() }) }) })
    .step("text", {
      action: async (ctx, { input }) => await (await ctx.storage.get(input.file.id)).text(),
    });

  export const patient = defineWorkflow({
    input: z.object({ days: z.number() }),
    timeout: "60 days",
    retention: "30 days",
  })
    .sleep("rest", ({ input }) => input.days * 86_400_000)
    .step("told", { query: async () => "rested" });

  export const careless = defineWorkflow({ input: z.object({}) }).step("work", {
    action: async () => {
      void Promise.reject(new Error("left behind"));
      return "done";
    },
  });

  export const approved = defineWorkflow({ input: z.object({ wait: z.boolean() }) })
    .sleep("rest", "1h")
    .event("approval", { schema: z.object({ by: z.string() }), timeout: "1 day" })
    .step("told", { action: async (_ctx, { approval }) => approval });

  export const chat = defineWorkflow({ input: z.object({}) })
    .event("first", { schema: z.string() })
    .loop("talk", {
      initial: () => ({ said: [] }),
      body: (b) =>
        b
          .event("message", { anyOf: { message: z.string(), end: z.null() } })
          .step("next", {
            query: async (_ctx, { loop, message }) => ({
              said: [...loop.state.said, message.name],
            }),
          }),
      until: ({ loop }) => loop.state.said.at(-1) === "end",
      maxIterations: 10,
    });

  export const asks = defineWorkflow({ input: z.object({}) })
    .parent("below", { children: () => [child(chat, {})] });

  export const polled = defineWorkflow({ input: z.object({ names: z.array(z.string()) }) })
    .parallel("rounds", {
      branches: {
        only: (b) =>
          b.each("polls", {
            of: ({ input }) => input.names,
            body: (item) =>
              item
                .event("answer", { schema: z.string() })
                .step("said", { query: (_ctx, { each, answer }) => each.item + answer }),
          }),
      },
    });

  export const member = defineWorkflow({
    input: z.object({ failures: z.number() }),
    onEnd: {
      action: async (_ctx, { input, run }, { attempt }) => {
        console.log("the end of", run.state, attempt);
        if (attempt <= input.failures) throw new Error("no end");
      },
      retry: { maxAttempts: 3, initialBackoffMs: 3_600_000, base: 2 },
    },
  }).step("work", { query: () => 7 });

  export const club = defineWorkflow({ input: z.object({ failures: z.number() }) })
    .child("one", member, ({ input }) => input);

  export const everywhere = defineWorkflow({ input: z.object({ text: z.string() }) })
    .step("hash", { action: internal.hashing.hash, args: ({ input }) => input })
    .step("note", { mutation: internal.notes.note, args: ({ hash }) => ({ hash }) });
`;

const FILES = {
  "convex.config.ts": convexConfig('import more from "./ledger/convex.config";'),
  "flows.workflow.ts": FLOWS,
  "hashing.ts": `
    "use node";
    import { createHash } from "node:crypto";
    import { v } from "convex/values";
    import { internalAction } from "./_generated/server";
    export const hash = internalAction({
      args: { text: v.string() },
      handler: async (_ctx, { text }) => createHash("sha256").update(text).digest("hex").slice(0, 8),
    });
  `,
  "notes.ts": `
    import { v } from "convex/values";
    import { components } from "./_generated/api";
    import { internalMutation } from "./_generated/server";
    export const note = internalMutation({
      args: { hash: v.string() },
      handler: async (ctx, { hash }) => await ctx.runMutation(components.ledger.entries.add, { hash }),
    });
  `,
  "ledger/convex.config.ts": `
    import { defineComponent } from "convex/server";
    export default defineComponent("ledger");
  `,
  "ledger/schema.ts": `
    import { defineSchema, defineTable } from "convex/server";
    import { v } from "convex/values";
    export default defineSchema({ entries: defineTable({ hash: v.string() }) });
  `,
  "ledger/entries.ts": `
    import { mutationGeneric } from "convex/server";
    import { v } from "convex/values";
    export const add = mutationGeneric({
      args: { hash: v.string() },
      handler: async (ctx, { hash }) => {
        await ctx.db.insert("entries", { hash });
        return { entered: hash };
      },
    });
  `,
};

let app: TestApp;
let events: RunEvent[] = [];
beforeAll(async () => {
  app = await writeApp(FILES);
});
afterAll(async () => await app.remove());
afterEach(() => {
  events = [];
});

function run(options: Partial<RunWorkflowOptions>) {
  return runWorkflow({
    functionsDir: app.functionsDir,
    workflow: "flaky",
    input: {},
    skipTime: true,
    onEvent: (event) => events.push(event),
    ...options,
  });
}

/** The lines that the progress of the run makes. */
function told(): string[] {
  const lines: string[] = [];
  const progress = new ProgressLines((line) => lines.push(line));
  for (const event of events) progress.tell(event);
  return lines;
}

describe("a run", () => {
  test("ends with its output and what it took", async () => {
    const outcome = await run({ input: { failures: 0 } });
    expect(outcome).toMatchObject({ state: "completed", output: { attempts: 1 } });
    // The start, the action and its completion; where time is skipped, the pool's watchdog may get
    // its look in before the end is seen.
    expect([3, 4]).toContain(outcome.totals.rootExecutions);
    expect(outcome.totals.failures).toBe(0);
  });

  test(
    "is retried without waiting for the backoff when time is skipped",
    { tags: ["large"] },
    async () => {
      const outcome = await run({ input: { failures: 2 } });
      expect(outcome).toMatchObject({ state: "completed", output: { attempts: 3 } });
      expect(outcome.durationMs).toBeGreaterThan(3_600_000 / 2);
      expect(told().filter((line) => /attempt \d failed/.test(line))).toHaveLength(2);
    },
  );

  test(
    "has more than the 24.8 days that timers of JavaScript last, time skipped or not",
    { tags: ["large"] },
    async () => {
      const rested = { state: "completed", output: "rested" };
      const outcome = await run({ workflow: "patient", input: { days: 40 } });
      expect(outcome).toMatchObject({ ...rested, durationMs: 40 * 86_400_000 });
      // Its timeout and the end of its retention are due in months, and do not come before.
      const now = await run({ workflow: "patient", input: { days: 0 }, skipTime: false });
      expect(now).toMatchObject(rested);
      expect(now.totals.rootExecutions).toBeLessThanOrEqual(4);
    },
  );

  test(
    "that fails is an outcome with its error, attempt and cause",
    { tags: ["large"] },
    async () => {
      const outcome = await run({ workflow: "family", input: { sizes: [0, 3] } });
      expect(outcome.state).toBe("failed");
      expect(outcome.error).toMatchObject({
        kind: "childFailed",
        workflow: "family",
        node: "members",
        cause: { workflow: "flaky", node: "work", attempt: 3, message: "no luck at attempt 3" },
      });
    },
  );

  test("tells of its children under their parent", { tags: ["large"] }, async () => {
    const outcome = await run({ workflow: "family", input: { sizes: [0, 1] } });
    expect(outcome.output).toEqual([1, 2]);
    const last = events.findLast((event) => event.type === "progress");
    expect(last?.tree.runs).toMatchObject([
      { workflow: "family", state: "completed" },
      { workflow: "flaky", parentStage: "members", index: 0, state: "completed" },
      { workflow: "flaky", parentStage: "members", index: 1, state: "completed" },
    ]);
    expect(last?.tree.runs[1]?.parentRunId).toBe(outcome.runId);
  });

  test("counts nothing of what was done to watch it", async () => {
    const watched = await run({ workflow: "family", input: { sizes: [0, 0, 0] } });
    expect(events.filter(({ type }) => type === "progress").length).toBeGreaterThan(0);
    // Start, and per child an action and a completion; a few more for the children's pages and the
    // join.
    expect(watched.totals.rootExecutions).toBeLessThanOrEqual(1 + 3 * 2 + 4);
  });

  test("reaches functions in Node, functions of a component in the app's folder", async () => {
    const outcome = await run({ workflow: "everywhere", input: { text: "hello" } });
    expect(outcome).toMatchObject({ state: "completed", output: { entered: "2cf24dba" } });
  });
});

describe("a workflow with an onEnd", () => {
  const ends = () =>
    events.flatMap((event) =>
      event.type === "log" && event.text.startsWith("the end") ? [event.text] : [],
    );

  test.each(["member", "club"])("[S172] of %s: it is waited for", async (workflow) => {
    const outcome = await run({ workflow, input: { failures: 2 } });
    expect(outcome).toMatchObject({ state: "completed", output: 7, durationMs: 0 });
    expect(ends()).toEqual([1, 2, 3].map((attempt) => `the end of completed ${attempt}`));
    expect(told().at(-1)).toMatch(/onEnd: completed .*at attempt 3$/);
  });

  test("[S172] that fails for good: the run keeps its result, and the error is told", async () => {
    const outcome = await run({ workflow: "member", input: { failures: 3 } });
    expect(outcome).toMatchObject({ state: "completed", output: 7, onEndError: "no end" });
  });
});

describe("events that are to be sent", () => {
  const progress = () =>
    events.flatMap((event) => (event.type === "progress" ? [event.tree.runs[0]!] : []));

  test("are sent when the run waits for them, after its sleeps", async () => {
    const outcome = await run({
      workflow: "approved",
      input: { wait: true },
      events: [{ name: "approval", value: { by: "Ada" } }],
    });
    expect(outcome.state).toBe("completed");
    expect(JSON.stringify(outcome.output)).toContain("Ada");
    expect(outcome.durationMs).toBe(3_600_000);
    const seen = progress().flatMap(({ steps }) => steps);
    expect(seen).toContainEqual(
      expect.objectContaining({ stage: "rest", kind: "sleep", state: "waiting" }),
    );
    expect(seen).toContainEqual(
      expect.objectContaining({ stage: "approval", state: "waiting", events: ["approval"] }),
    );
  });

  test(
    "are sent at their time, where they have one; what comes early is kept",
    { tags: ["large"] },
    async () => {
      const at = async (atMs: number) =>
        await run({
          workflow: "approved",
          input: { wait: true },
          events: [{ name: "approval", value: { by: "Ada" }, atMs }],
        });
      expect((await at(60_000)).durationMs).toBe(3_600_000);
      expect((await at(7_200_000)).durationMs).toBe(7_200_000);
    },
  );

  test("of one name come in their order, each iteration of a loop is told by itself", async () => {
    const outcome = await run({
      workflow: "chat",
      events: [
        { name: "first", value: "hello" },
        { name: "message", value: "a" },
        { name: "message", value: "b" },
        { name: "end", value: null },
      ],
    });
    expect(outcome).toMatchObject({
      state: "completed",
      output: { said: ["message", "message", "end"] },
    });
    const ended = told().map((line) => /talk\.message \((.*)\): completed/.exec(line)?.[1]);
    expect(ended.filter(Boolean)).toEqual(["iteration 1", "iteration 2", "iteration 3"]);
  });

  test("reach a run below", { tags: ["large"] }, async () => {
    const outcome = await run({
      workflow: "asks",
      events: [
        { name: "first", value: "hello" },
        { name: "end", value: null },
      ],
    });
    expect(outcome).toMatchObject({ state: "completed" });
  });

  test("[S163] reach the branch and the item that they name, in any order", async () => {
    const answer = (of: number, value: string, atMs?: number) => {
      const place = { in: `rounds/only/polls/${of}`, isBelow: true };
      return { name: "answer", value, ...place, ...(atMs === undefined ? {} : { atMs }) };
    };
    const planned = [answer(1, "!"), answer(0, "?", 60_000), answer(7, "-")];
    const outcome = await run({
      workflow: "polled",
      input: { names: ["ann", "bob"] },
      events: planned,
    });
    expect(outcome).toMatchObject({
      output: { only: ["ann?", "bob!"] },
      durationMs: 60_000,
      unsent: [planned[2]],
    });
    await expect(
      run({ workflow: "polled", input: { names: ["ann"] }, events: [answer(7, "-")] }),
    ).rejects.toThrow('was given there: "answer" in rounds/only/polls/7.');
  });

  test.each([true, false])(
    "but are missing: the run says which, instead of waiting for ever (time skipped: %s)",
    async (skipTime) => {
      const started = run({ workflow: "chat", skipTime });
      // What a process does that has nothing left to do.
      const idle = setInterval(() => process.emit("beforeExit", 0), 50);
      await expect(started).rejects.toThrow(
        'The run cannot end: "first" of chat waits for the event "first", which nobody sends.',
      );
      clearInterval(idle);
    },
  );

  test("but one under another name was given: that is named too", async () => {
    await expect(
      run({ workflow: "chat", events: [{ name: "frist", value: "x" }] }),
    ).rejects.toThrow(
      'waits for the event "first", which nobody sends. Give it with --events. Nothing waits for what was given there: "frist".',
    );
  });

  test("that are left over at the end are told", async () => {
    const approval = { name: "approval", value: { by: "me" } };
    const late = { ...approval, atMs: 7 * 86_400_000 };
    const outcome = await run({
      workflow: "approved",
      input: { wait: false },
      events: [approval, approval, late],
    });
    expect(outcome).toMatchObject({ state: "completed", unsent: [approval, late] });
  });

  test("of a name or a payload that does not fit are refused", { tags: ["large"] }, async () => {
    await expect(
      run({ workflow: "chat", events: [{ name: "frist", value: "x", atMs: 0 }] }),
    ).rejects.toThrow(/No node of workflow "chat" waits for an event "frist"/);
    await expect(run({ workflow: "chat", events: [{ name: "first", value: 7 }] })).rejects.toThrow(
      /"first"/,
    );
  });
});

test(
  "with a seed a run waits the same between its attempts each time, without one as it likes",
  { tags: ["large"] },
  async () => {
    const waits = async (random?: number) =>
      (await run({ input: { failures: 2 }, ...(random === undefined ? {} : { random }) }))
        .durationMs;
    const random = Math.random;
    const first = await waits(7);
    expect(await waits(7)).toBe(first);
    expect(await waits(8)).not.toBe(first);
    expect(await waits()).not.toBe(first);
    expect(Math.random).toBe(random);
  },
);

test("what functions print is an event, not output of the process", async () => {
  await run({ input: { failures: 1 } });
  const logs = events.flatMap((event) => (event.type === "log" ? [event.text] : []));
  expect(logs).toEqual(["attempt 1", "attempt 2"]);
});

test("a promise that functions left behind and that failed is told, and ends nothing", async () => {
  const outcome = await run({ workflow: "careless" });
  expect(outcome).toMatchObject({ state: "completed", output: "done" });
  const logs = events.flatMap((event) => (event.type === "log" ? [event.text] : []));
  expect(logs.join()).toContain("Unhandled rejection: Error: left behind");
});

test("a file is stored, and its id put into a nested field of the input", async () => {
  const folder = await mkdtemp(join(tmpdir(), "stepwise-"));
  await writeFile(join(folder, "a.txt"), "what the file says");
  const files = [{ field: "file.id", path: join(folder, "a.txt") }];
  const outcome = await run({ workflow: "reader", input: {}, files });
  await rm(folder, { recursive: true });
  expect(outcome.output).toBe("what the file says");
});

test("nothing is left in the cache, also when the run could not be started", async () => {
  const cache = join(dirname(app.functionsDir), "node_modules", ".cache", "stepwise");
  await run({ input: { failures: 0 } });
  await expect(run({ input: { failures: "none" } })).rejects.toThrow();
  expect(existsSync(cache) ? await readdir(cache) : []).toEqual([]);
});

describe("it refuses, saying what is wrong,", () => {
  test("a workflow that is not there, with the nearest name", async () => {
    await expect(run({ workflow: "flakey" })).rejects.toThrow(
      'There is no workflow "flakey". Did you mean "flaky"?',
    );
  });

  test("input that does not fit, naming the field", async () => {
    await expect(run({ input: { failures: "none" } })).rejects.toThrow(
      /flaky.*[^]*input\.failures/,
    );
  });

  test("a file for a field inside of something that is no object", async () => {
    const files = [{ field: "sizes.0", path: import.meta.filename }];
    await expect(run({ workflow: "family", input: { sizes: [1] }, files })).rejects.toThrow(
      'The file for "sizes.0" has no place in the input',
    );
  });

  test("an app that does not mount the component, with the lines to add", async () => {
    const bare = await writeApp({ "flows.workflow.ts": FLOWS });
    await expect(run({ functionsDir: bare.functionsDir })).rejects.toThrow(
      /does not mount "@stepwise\/workflow".*[^]*app\.use\(workflow\)/,
    );
    await bare.remove();
  });

  test("a convex.config.ts that exports no app, with what to write", async () => {
    for (const text of ["export const app = 1;", "export default {};"]) {
      const none = await writeApp({ "convex.config.ts": text, "flows.workflow.ts": FLOWS });
      await expect(run({ functionsDir: none.functionsDir })).rejects.toThrow(
        "convex.config.ts exports no app: end it with `export default app`",
      );
      await none.remove();
    }
  });

  test("a module that cannot be bundled, with its place", async () => {
    const broken = await writeApp({
      "convex.config.ts": convexConfig(),
      "broken.ts": 'import "./nowhere";\nexport const x = 1;\n',
    });
    await expect(run({ functionsDir: broken.functionsDir })).rejects.toThrow(
      /broken\.ts:1:7: ERROR: Could not resolve "\.\/nowhere"/,
    );
    await broken.remove();
  });
});
