import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import { seedsOf } from "../differential/releases.js";
import { type App, compiled, removeAll } from "./app.js";
import { poolScenarioOf } from "./pool-scenario.js";
import { poolSimulated } from "./pool-simulated.js";
import { type Scenario, scenarioOf } from "./scenario.js";
import { COMPARED, SCENES } from "./scenes.js";
import { asTest } from "./shrink.js";
import { simulated } from "./simulated.js";

/** More of them: `npm run sim -- --seeds 1000`. */
const scenarios = [
  ...seedsOf(8).map((seed) => scenarioOf(seed, seed % 2 === 0 ? "s16" : "s256")),
  ...seedsOf(3).map((seed) => scenarioOf(500_000 + seed, "s16", "steer")),
  scenarioOf(510_000, "s16", "wide"),
  scenarioOf(520_000, "s16", "restore"),
];
let app: App;

beforeAll(async () => {
  app = await compiled(scenarios);
});
afterAll(removeAll);
beforeEach(() => {
  // What is made to fail says so.
  for (const method of ["log", "warn", "error"] as const)
    vi.spyOn(console, method).mockImplementation(() => {});
});

describe("whatever befalls random workflows on a deployment, what must always hold holds", () => {
  test.each(scenarios.map((scenario) => [scenario.seed, scenario] as const))(
    "seed %i",
    { tags: ["large"] },
    async (_seed, scenario) => {
      const { problems, history } = await simulated(scenario, app);
      expect(problems, history.join("\n")).toEqual([]);
    },
  );
});

describe("what must meet within a moment", () => {
  test.each(SCENES.map((scene) => [scene.top, scene] as const))(
    "%s",
    { tags: ["large"] },
    async (_top, scene) => {
      const { problems, history } = await simulated(scene);
      expect(problems, history.join("\n")).toEqual([]);
    },
  );
});

describe("a run to which nothing is done comes to what the interpreter says", () => {
  test.each(COMPARED.map((each) => [each.says, each] as const))(
    "%s",
    { tags: ["large"] },
    async (_says, { scenario, isCompared }) => {
      const outcome = await simulated(scenario);
      expect(outcome.problems, outcome.history.join("\n")).toEqual([]);
      expect(outcome).toHaveProperty("isCompared", isCompared);
    },
  );
});

/** Its slots are divided among executors, and nothing goes wrong. */
const WIDE_POOL = 791;

describe("whatever befalls a pool of its own, what must always hold holds", () => {
  test.each([...seedsOf(4), WIDE_POOL])("seed %i", { tags: ["large"] }, async (seed) => {
    const { problems, history } = await poolSimulated(poolScenarioOf(seed, "s16"));
    expect(problems, history.join("\n")).toEqual([]);
  });
});

describe("what check says of an edit is true of the runs that are in flight", () => {
  let family: App;
  beforeAll(async () => {
    family = await compiled([scenarioOf(1, "s16", "deploy")]);
  });

  test.each(seedsOf(4))("seed %i", { tags: ["large"] }, async (seed) => {
    const scenario = scenarioOf(530_000 + seed, "s16", "deploy");
    const { problems, history } = await simulated(scenario, family);
    expect(problems, history.join("\n")).toEqual([]);
  });

  test("else that is a problem", { tags: ["large"] }, async () => {
    // A run is at the parent that is removed.
    const scenario = scenarioOf(429, "s16", "deploy");
    expect((await simulated(scenario, family)).problems).toEqual([]);
    const untold = { ...family, later: { ...family.later!, changes: [] } };
    const { problems } = await simulated(scenario, untold);
    expect(problems.join()).toContain("kids removed");
    expect(problems.join()).toContain("which check does not say");
  });
});

test("the same scenario comes to the same, event by event", { tags: ["large"] }, async () => {
  const scenario = scenarios.find(({ plan }) => plan.length > 3)!;
  const [one, other] = [await simulated(scenario, app), await simulated(scenario, app)];
  expect(other).toEqual(one);
});

test(
  "a run that is not what the interpreter makes of its definition is a problem, and printed as a test",
  { tags: ["large"] },
  async () => {
    const calm = scenarios.find(({ plan }) => plan.length === 0)!;
    // The simulator's functions have a console of their own, which prints nothing.
    const started = calm.definition.lastIndexOf("export const");
    const definition = `${calm.definition.slice(0, started)}export const ${calm.top} = defineWorkflow({ input: z.object({ at: z.string(), n: z.number() }) })
    .step("n1", { query: () => (Object.keys(console).length > 0 ? "interpreted" : "compiled") });`;
    const scenario: Scenario = { ...calm, definition };
    const { problems, isCompared } = await simulated(scenario);
    expect(isCompared).toBe(true);
    expect(problems.join()).toMatch(/"output":"compiled".*\n.*"output":"interpreted"/);
    expect(asTest(scenario, problems)).toContain('await simulated({ definition, ...{\n  "seed"');
  },
);

/** Found by seed 400671: rows in the order of their times put it after the cancel. */
test(
  "what ran before a cancel is known to be before it, also if the clock jumps back between them",
  { tags: ["large"] },
  async () => {
    const definition = `
import { defineWorkflow } from "@stepwise/workflow";
import { z } from "zod";
import { change, digest } from "./behaviour";

export const w400671top = defineWorkflow({ input: z.object({ at: z.string(), n: z.number().min(0), more: z.string().default("more") }) })
  .loop("n1", {
    initial: (scope) => digest(scope),
    body: (b) => b.step("n2", {
      mutation: async (ctx, { input, loop }, info) => change(ctx, info, "n2", { input, loop }, {}),
      compensate: { mutation: async (ctx, { input, error }, info) => change(ctx, info, "n2.compensate", { input, error }, {}) },
    }),
    until: ({ loop }) => loop.iteration >= 20,
    maxIterations: 20,
  })
  .event("n3", { schema: z.string(), timeout: 200000 })
  .event("n4", { schema: z.string(), timeout: 200000 });
`;
    const { problems, history } = await simulated({
      definition,
      seed: 400_671,
      class: "s16",
      top: "w400671top",
      plan: [
        { on: "event", nth: 2, does: "repair" },
        { on: "event", nth: 4, does: "jump", ms: -3_600_000 },
        { on: "event", nth: 16, does: "cancel", run: 0.72 },
      ],
      maxParallelism: 2,
    });
    expect(problems, history.join("\n")).toEqual([]);
  },
);
