import { describe, expect, test, vi } from "vitest";
import { permitsFor } from "@stepwise/workpool/core";
import type { ComponentApi } from "../src/component/_generated/component.js";
import { WorkflowManager } from "../src/index.js";
import { literalText } from "../src/rules.js";
import { keyMade } from "../src/runtime/keys.js";
import { tagsOf } from "../src/runtime/tags.js";
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

describe("[S141] an option of another type is refused by its name, and nothing is done", () => {
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
    [/where says for which runs/, () => manager.bulk.start(ctx, { do: "cancel" })],
    [/do is "stop": write "cancel"/, () => manager.bulk.start(ctx, { do: "stop", where: {} })],
    [/upTo is NaN/, () => manager.bulk.count(ctx, {}, Number.NaN)],
    [/upTo is -1/, () => manager.bulk.count(ctx, {}, -1)],
    [/inputs are no list/, () => manager.startBatch(ctx, leaf, null)],
    [/key must be a function of each/, () => manager.startBatch(ctx, leaf, [1], { key: "k" })],
    [/Input 0 of the batch/, () => manager.startBatch(ctx, leaf, [, { n: 1 }])], // eslint-disable-line no-sparse-arrays
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
      /runAt is 1e\+300: more than a year/,
      () => manager.start(ctx, leaf, { n: 1 }, { runAt: 1e300 }),
    ],
    [/waits for an event "5"/, () => manager.sendEvent(ctx, leaf, "r", 5, null)],
    [/not as its definition or its name/, () => manager.sendEvent(ctx, undefined, "r", "go", null)],
    [/no node "5"/, () => manager.restart(ctx, leaf, "r", { from: 5 })],
    [/A run is given by its id/, () => manager.status(ctx, leaf, { key: 5 })],
    [/A run is given by its id/, () => manager.cancel(ctx, leaf, null)],
    [/A run is given by its id/, () => manager.status(ctx, leaf, 5)],
    [/not as its definition or its name/, () => manager.status(ctx, "r")],
    [/not as its definition or its name/, () => manager.repair(ctx, { leaf: leaf.definition })],
    [/until is 5: give a Date/, () => manager.limits.pause(ctx, "tenant", { until: 5n })],
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

  test("and a message shows a value that is in itself", () => {
    const circle: Record<string, unknown> = {};
    circle.a = circle;
    expect(literalText(circle)).toBe("{ a: { a: { a: { … } } } }");
  });
});
