import { anyApi } from "convex/server";
import { describe, expect, test, vi } from "vitest";
import { permitsFor } from "@stepwise/workpool/core";
import type { ComponentApi } from "../src/component/_generated/component.js";
import { defineWorkflow, WorkflowManager } from "../src/index.js";
import { literalText } from "../src/rules.js";
import { compiled } from "../src/runtime/index.js";
import { keyMade } from "../src/runtime/keys.js";
import { tagging, tagsOf } from "../src/runtime/tags.js";
import { z } from "zod";
import { workflows } from "./convex/_workflows/index.js";

/* What types forbid, but plain JavaScript and `any` let through. Each is refused by its name. */

const HALF = "so good 😀".slice(0, -1);
const reached = vi.fn(() => {
  throw new Error("the component was called");
});
const components = Object.fromEntries(
  ["lib", "steering", "views", "listing", "bulk", "events", "limits"].map((name) => [name, {}]),
) as unknown;
const ctx = { runMutation: reached, runQuery: reached } as never;
const manager = new WorkflowManager(components as ComponentApi) as any;
const { leaf } = workflows as Record<string, any>;

const managerWith = (options: object) => new WorkflowManager({} as ComponentApi, options);

async function refusal(call: () => unknown): Promise<string> {
  return await Promise.resolve()
    .then(call)
    .then(
      () => "accepted",
      (error: Error) => error.message,
    );
}

describe("[S140] a key or a tag with half a surrogate pair is refused, with its option", () => {
  const key = () => HALF;
  test.each([
    [() => keyMade({ name: "flow" }, { option: "one", key, sensitive: [] }, {}), /one of workflow/],
    [
      () =>
        tagsOf({ name: "flow", definition: { options: { tags: () => ({ t: HALF }) } } as any }, {}),
      /tag of workflow "flow", "t"/,
    ],
    [() => permitsFor({ tenant: HALF }, { tenant: { perKey: 1 } }), /limit "tenant"/],
  ])("%s", async (call, option) => {
    const message = await refusal(call);
    expect(message).toMatch(option);
    expect(message).toMatch(/has half a surrogate pair/);
  });
});

describe("[S141] [S257] an option of another type is refused by its name, and nothing is done", () => {
  test.each<[RegExp, () => unknown]>([
    // A filter that is left out would be for the runs of all workflows.
    [
      /not as its definition or its name/,
      () => manager.bulk.start(ctx, { do: "cancel", where: { workflow: "leaf" } }),
    ],
    [
      /not as its definition or its name/,
      () => manager.list(ctx, { workflow: leaf.definition }, { numItems: 1, cursor: null }),
    ],
    [
      /workflow in `where` is undefined/,
      () => manager.bulk.start(ctx, { do: "cancel", where: { workflow: undefined } }),
    ],
    [/has the name 5n/, () => tagging(ctx, components as ComponentApi, "r")(5n as never, 1)],
    [/has the name null/, () => tagging(ctx, components as ComponentApi, "r")(null as never, 1)],
    // Convex drops such a field on its way.
    [
      /tag is \{ __proto__: 1 \}: give one tag/,
      () =>
        manager.bulk.start(ctx, { do: "cancel", where: { tag: JSON.parse('{ "__proto__": 1 }') } }),
    ],
    [/where says for which runs/, () => manager.bulk.start(ctx, { do: "cancel" })],
    [/do is "stop": give "cancel"/, () => manager.bulk.start(ctx, { do: "stop", where: {} })],
    // No timer could wait for the next page.
    [
      /perSecond is 1e-300: give a number from 0.00001/,
      () => manager.bulk.start(ctx, { do: "cancel", where: {}, perSecond: 1e-300 }),
    ],
    [/upTo is NaN/, () => manager.bulk.count(ctx, {}, Number.NaN)],
    [/upTo is -1/, () => manager.bulk.count(ctx, {}, -1)],
    [/inputs are no list/, () => manager.startBatch(ctx, leaf, null)],
    [/key must be a function of each/, () => manager.startBatch(ctx, leaf, [1], { key: "k" })],
    [/Input 0 of the batch/, () => manager.startBatch(ctx, leaf, [, { n: 1 }])], // eslint-disable-line no-sparse-arrays
    [/key is empty; leave it out/, () => manager.start(ctx, leaf, { n: 1 }, { key: "" })],
    [
      /key is empty; leave it out/,
      () => manager.startBatch(ctx, leaf, [{ n: 1 }], { key: () => "" }),
    ],
    [
      /reuse is "always": write "never"/,
      () => manager.start(ctx, leaf, { n: 1 }, { key: "k", reuse: "always" }),
    ],
    [
      /onComplete.fn is undefined: give a mutation/,
      () => manager.start(ctx, leaf, { n: 1 }, { onComplete: {} }),
    ],
    [
      /onComplete.fn is undefined: give a mutation/,
      () => manager.start(ctx, leaf, { n: 1 }, { onComplete: null }),
    ],
    [
      /onComplete.fn is a function: give a mutation/,
      () => manager.start(ctx, leaf, { n: 1 }, { onComplete: { fn: () => null } }),
    ],
    [
      /onComplete.fn is \{\}: give a mutation/,
      () => manager.start(ctx, leaf, { n: 1 }, { onComplete: { fn: Object.create(null) } }),
    ],
    // The field `fn` of a reference is a reference to a function that there is not.
    [
      /onComplete is a function: write \{ fn: internal/,
      () => manager.start(ctx, leaf, { n: 1 }, { onComplete: anyApi["orders"]!["ended"] }),
    ],
    [
      /runAt is 1e\+300: more than a year/,
      () => manager.start(ctx, leaf, { n: 1 }, { runAt: 1e300 }),
    ],
    [/its name is 5: give a text/, () => manager.sendEvent(ctx, leaf, "r", 5, null)],
    [/not as its definition or its name/, () => manager.sendEvent(ctx, undefined, "r", "go", null)],
    [/from is 5: give a text/, () => manager.restart(ctx, leaf, "r", { from: 5 })],
    [/A run is given by its id/, () => manager.status(ctx, leaf, { key: 5 })],
    [/A run is given by its id/, () => manager.cancel(ctx, leaf, null)],
    [/A run is given by its id/, () => manager.status(ctx, leaf, 5)],
    [/not as its definition or its name/, () => manager.status(ctx, "r")],
    [/not as its definition or its name/, () => manager.repair(ctx, { leaf: leaf.definition })],
    [/until is 5n: give a Date/, () => manager.limits.pause(ctx, "tenant", { until: 5n })],
    [
      /tags of workflow "flow" are null: give an object/,
      () => tagsOf({ name: "flow", definition: { options: { tags: () => null } } as any }, {}),
    ],
    [
      /tags of workflow "flow" are a list/,
      () => tagsOf({ name: "flow", definition: { options: { tags: () => ["a"] } } as any }, {}),
    ],
    [
      /"tenant" needs a key.* null was given/,
      () => permitsFor({ tenant: null } as any, { tenant: { perKey: 1 } }),
    ],
  ])("%s", async (message, call) => {
    expect(await refusal(call)).toMatch(message);
    expect(reached).not.toHaveBeenCalled();
  });

  /** What no option takes: each is refused where the cell is called, and nothing is done. */
  const strange: readonly unknown[] = [
    Number.NaN,
    5n,
    Symbol("s"),
    new Map(),
    [1],
    () => 1,
    Promise.resolve({}),
    HALF,
    new Date(),
  ];
  const first = { numItems: 1, cursor: null };
  test.each<[string, (value: unknown) => unknown]>([
    ["options", (value) => manager.start(ctx, leaf, { n: 1 }, value)],
    ["options", (value) => manager.startBatch(ctx, leaf, [{ n: 1 }], value)],
    ["from", (from) => manager.restart(ctx, leaf, "r", { from })],
    ["iteration", (iteration) => manager.restart(ctx, leaf, "r", { iteration })],
    ["A run is given by its id", (value) => manager.restart(ctx, leaf, value)],
    ["A run is given by its id", (value) => manager.cleanup(ctx, value)],
    ["A run is given by its id", (value) => manager.waits(ctx, value)],
    ["A run is given by its id", (value) => manager.steps(ctx, leaf, value, first)],
    ["A run is given by its id", (value) => manager.status(ctx, leaf, value)],
    ["A run is given by its id", (key) => manager.cancel(ctx, leaf, { key })],
    ["its name", (value) => manager.sendEvent(ctx, leaf, "r", value, null)],
    ["the page", (value) => manager.list(ctx, {}, value)],
    ["the page", (value) => manager.steps(ctx, leaf, "r", value)],
    ["numItems", (numItems) => manager.waits(ctx, "r", { ...first, numItems })],
    ["cursor", (cursor) => manager.list(ctx, {}, { numItems: 1, cursor })],
    ["cursor", (cursor) => manager.steps(ctx, leaf, "r", { numItems: 1, cursor })],
    ["cursor", (cursor) => manager.bulk.list(ctx, { numItems: 1, cursor })],
    ["endCursor", (endCursor) => manager.list(ctx, {}, { ...first, endCursor })],
    ["maximumRowsRead", (rows) => manager.list(ctx, {}, { ...first, maximumRowsRead: rows })],
    ...["state", "since", "until", "text", "parent", "doing", "tag", "children", "places"].map(
      (name): [string, (value: unknown) => unknown] => [
        name,
        (value) => manager.list(ctx, { [name]: value }, first),
      ],
    ),
    ["node", (node) => manager.list(ctx, { workflow: leaf, node }, first)],
    ["outdated", (outdated) => manager.list(ctx, { workflow: leaf, outdated }, first)],
    ["tag", (value) => manager.bulk.count(ctx, { tag: { org: value } })],
    ["filter", (value) => manager.bulk.count(ctx, value)],
    ["where", (where) => manager.bulk.start(ctx, { do: "cancel", where })],
    ["from", (from) => manager.bulk.start(ctx, { do: "restart", where: { workflow: leaf }, from })],
    ["atMost", (atMost) => manager.bulk.start(ctx, { do: "cancel", where: {}, atMost })],
    ["perSecond", (perSecond) => manager.bulk.start(ctx, { do: "cancel", where: {}, perSecond })],
    ["its id", (value) => manager.bulk.get(ctx, value)],
    ["its id", (value) => manager.bulk.stop(ctx, value)],
    ["workflows", (value) => manager.repair(ctx, value)],
    ["its name", (value) => manager.limits.pause(ctx, value)],
    ["options", (value) => manager.limits.pause(ctx, "tenant", value)],
    ["key", (key) => manager.limits.resume(ctx, "tenant", { key })],
    ["by", (by) => manager.limits.pause(ctx, "tenant", { by })],
    ["total", (total) => manager.limits.override(ctx, "tenant", { total })],
    ["rate", (rate) => manager.limits.override(ctx, "tenant", { rate })],
    ["options", (value) => new WorkflowManager({} as ComponentApi, value as object)],
    ["renamed", (renamed) => managerWith({ renamed })],
    ["retention", (retention) => managerWith({ retention })],
    ["logLevel", (logLevel) => managerWith({ logLevel })],
    ["maxParallelism", (maxParallelism) => managerWith({ maxParallelism })],
    ["limits", (limits) => managerWith({ limits })],
    ['"a"', (a) => managerWith({ limits: { a } })],
    ["unit", (unit) => managerWith({ limits: { a: { rate: { limit: 1, per: 1 }, unit } } })],
    ["rate", (rate) => managerWith({ limits: { a: { rate } } })],
    ["rate.per", (per) => managerWith({ limits: { a: { rate: { limit: 1, per } } } })],
    [
      "rate.count",
      (count) => managerWith({ limits: { a: { rate: { limit: 1, per: 1, count } } } }),
    ],
  ])("%s: %s", async (option, call) => {
    for (const value of strange) {
      const said = await refusal(() => call(value));
      expect(said).toContain(option);
      expect(said).not.toMatch(/Cannot (?:read|convert|destructure)|is not a function/);
    }
    expect(reached).not.toHaveBeenCalled();
  });

  // A misspelt time would begin the run at once, and another library's context would be lost.
  test.each<[string, string, () => unknown]>([
    ["runAftr", "runAfter", () => manager.start(ctx, leaf, { n: 1 }, { runAftr: "1h" })],
    ["context", "onComplete", () => manager.startOrGet(ctx, leaf, { n: 1 }, { context: 1 })],
    [
      "contxt",
      "context",
      () => manager.start(ctx, leaf, { n: 1 }, { onComplete: { fn: "orders:ended", contxt: 1 } }),
    ],
    ["retentoin", "reuse", () => manager.startBatch(ctx, leaf, [{ n: 1 }], { retentoin: "1d" })],
    ["form", "from", () => manager.restart(ctx, leaf, "r", { form: "copy" })],
    ["retentoin", "retention", () => managerWith({ retentoin: "1d" })],
  ])(
    "[S260] one that there is not is refused, with those that there are: %s",
    async (name, of, call) => {
      expect(await refusal(call)).toMatch(
        new RegExp(`: there is no "${name}": there is .*\\b${of}\\b`),
      );
      expect(reached).not.toHaveBeenCalled();
    },
  );

  test("[S260] beside the key of a run there is nothing else", async () => {
    for (const call of ["status", "cancel", "pause", "resume"])
      expect(await refusal(() => manager[call](ctx, leaf, { key: "k", runid: "r" }))).toMatch(
        /^A run of a workflow: there is no "runid": there is key$/,
      );
    expect(reached).not.toHaveBeenCalled();
  });

  // What is left out is `undefined`; this is not.
  test("a node of a restart is not empty, which would do everything again", async () => {
    expect(await refusal(() => manager.restart(ctx, leaf, "r", { from: "" }))).toMatch(
      /no node ""/,
    );
    const bulk = { do: "restart", where: { workflow: leaf }, from: "" };
    expect(await refusal(() => manager.bulk.start(ctx, bulk))).toMatch(/no node ""/);
    expect(reached).not.toHaveBeenCalled();
  });

  test("a filter that there is not is not for all runs", async () => {
    const where = { sate: "failed" };
    expect(await refusal(() => manager.bulk.start(ctx, { do: "cancel", where }))).toMatch(
      /there is no "sate": there is workflow, state,/,
    );
  });

  test("and a message shows a value that cannot be read", () => {
    expect(
      literalText({
        get a() {
          throw new Error("no");
        },
      }),
    ).toBe("an object that cannot be read");
    expect(literalText(Object.create(null))).toBe("{}");
  });
});

/** What a generated file does when it is loaded. @returns what `start` asks of it */
function loaded(general: object, limits?: unknown) {
  const step = { action: () => 1, limits } as never;
  const flow = defineWorkflow({ input: z.any(), ...general } as never).step("charge", step);
  const known = {
    tenant: { perKey: 1 },
    tokens: { unit: "tokens", rate: { limit: 9, per: "1m" } },
    used: { unit: "tokens", rate: { limit: 9, per: "1m" }, perKey: 1 },
  };
  const own = compiled(components as ComponentApi, "order", flow as never, {
    format: 1,
    limits: known as never,
  });
  own.action("charge", () => 1);
  return own.reference<any>(z.any());
}

describe("[S261] options of a definition that are none are refused with the node's name", () => {
  const begin = (options: object = {}): any =>
    defineWorkflow({ input: z.any(), ...options } as any);
  const kinds = ["step", "parent", "event", "branch", "match", "loop", "parallel", "race", "each"];
  for (const none of [undefined, null, 5])
    test.each<[string, () => unknown]>([
      ["a workflow", () => defineWorkflow(none as never)],
      ...kinds.map((kind): [string, () => unknown] => [
        `${kind} "n"`,
        () => begin()[kind]("n", none),
      ]),
      ['finalize "finalize"', () => begin().finalize(none)],
    ])(`${none}: %s`, async (what, define) => {
      const said = `The options of ${what} are ${none}: give an object`;
      expect(await refusal(define)).toBe(said);
    });

  test.each<[string, () => unknown]>([
    ["The options of child", () => begin().child("n", begin(), () => 1, null)],
    ["The renamed of a workflow is null", () => begin({ renamed: null })],
    ['Parallel "n" has no branches', () => begin().parallel("n", { branches: null })],
    ['Race "n" has no cases', () => begin().race("n", { cases: null })],
    ['Branch "n" has no cases', () => begin().branch("n", { on: () => "a", cases: null })],
    ['Match "n" has no cases', () => begin().match("n", { of: "input", cases: null })],
  ])("%s", async (message, define) => {
    expect(await refusal(define)).toContain(message);
  });
});

describe("[S141] an option of a workflow that cannot be is refused with the workflow's name", () => {
  const key = () => "k";
  test.each<[string, unknown]>([
    ["sensitive", "input.card"],
    // A path that names nothing would hide nothing.
    ["sensitive", ["card"]],
    ["one", null],
    ["one", { key: "k", otherwise: "wait" }],
    ["one", { key, otherwise: "drop" }],
    ["fairness", key],
    ["fairness", { key, weight: null }],
    ["fairness", { key: "k" }],
    ["collect", [key]],
    ["collect", { key, quiet: "1 fortnight", keep: "last" }],
    ["collect", { key, quiet: "30s", keep: "most" }],
    ["collect", { key, quiet: "30s", keep: "all", size: 0.5 }],
    ["collect", { key, quiet: "30s", keep: "all", atMost: "1s" }],
  ])("when its code is loaded: %s %j", async (option, value) => {
    const said = await refusal(() => loaded({ [option]: value }));
    expect(said).toMatch(new RegExp(`^The .*${option} of workflow "order" is `));
  });

  const tenant = () => "acme";
  const own = (limits: unknown) => loaded({ limits: { tenant } }, limits);
  test.each<[string, unknown]>([
    ["the spend for the limit", { tokens: { estimate: 1, spend: 5 } }],
    ["the spend for the limit", { tokens: { estimate: 1, spend: "usage.total" } }],
    ["the key for the limit", { tokens: { estimate: 1, key: "acme" } }],
    ["The estimate for the limit", { tokens: { estimate: Number.NaN } }],
    ["counts tokens: give { estimate", { tokens: true }],
    ["counts tokens: give { estimate", { tokens: null }],
    ["counts tokens: give { estimate", { tokens: () => "acme" }],
  ])("when a run would begin with it: %s %j", async (part, value) => {
    const said = await refusal(() => loaded({}, [{ tenant }, value]).permits({}));
    expect(said).toMatch(/^The limits of "charge" in workflow "order" cannot be: /);
    expect(said).toContain(part);
  });

  // Otherwise the action would run without its limits.
  test.each<[string, unknown]>([
    ["null", null],
    ["5", 5],
    ["a function", () => ({ tenant: "acme" })],
    ["a Map", new Map([["tenant", "acme"]])],
    ['"openai"', "openai"],
    ["5", [{ tenant }, 5]],
    ["undefined", [undefined]],
    ["a list", [["openai"]]],
  ])("[S264] limits that are none are refused, and not left out: %s", async (shown, limits) => {
    const said = await refusal(() => own(limits).permits({}));
    expect(said).toMatch(/^The limits of "charge" in workflow "order" cannot be: /);
    expect(said).toContain(`${shown} is neither a name nor an object`);
    const general = loaded({ limits }, [{ tenant }]);
    expect(await refusal(() => general.permits({}))).toBe(said);
  });

  test.each(["", null, 0, false, NaN])(
    "[S264] a key that is none is refused, and not left out: %s",
    async (key) => {
      const said = await refusal(() =>
        own({ tokens: { estimate: 1, key: () => key } }).permits({}),
      );
      expect(said).toContain('The limit "tokens" takes no key');
      const keyed = { used: { estimate: 1, key: () => key } };
      expect(await refusal(() => own(keyed).permits({}))).toContain('The limit "used" needs a key');
    },
  );
});
