import { ENCORE, type Scenario } from "./scenario.js";

/*
 * What seeds come to too seldom: moments that must meet, written down. The numbers of their seeds
 * count from 1, as `npm run sim -- --profile scenes` plays them.
 */

const IMPORTS = `
import { child, defineWorkflow } from "@stepwise/workflow";
import { z } from "zod";
import { act, below, change, look } from "./behaviour";

const input = z.object({ at: z.string(), n: z.number() });
`;

/** With something in its plan, so that it is not held against the interpreter. */
function scene(top: string, definition: string, plan: Scenario["plan"] = LOOK): Scenario {
  return { seed: 0, class: "s16", maxParallelism: 4, top, definition: IMPORTS + definition, plan };
}
const LOOK: Scenario["plan"] = [{ on: "event", nth: 1, does: "look" }];

export const SCENES: readonly Scenario[] = [
  // None of them may take another, which is about to end, for one that goes on.
  scene(
    "endsTogether",
    `
export const sleeps = defineWorkflow({ input }).sleep("equally", 60_000);
export const endsTogether = defineWorkflow({ input })
  .parent("all", {
    children: ({ input }) => Array.from({ length: 12 }, () => child(sleeps, input)),
  })
  .step("after", { mutation: async (ctx, { input }, info) => change(ctx, info, "after", { input }) });
`,
  ),
  // Of a cancel and an event one comes first, and the other finds that.
  scene(
    "canceledAsItComes",
    `
export const canceledAsItComes = defineWorkflow({ input })
  .event("before", { schema: z.string() })
  .step("after", { mutation: async (ctx, { input }, info) => change(ctx, info, "after", { input }), isolate: true });
`,
    [
      ...Array.from({ length: 11 }, () => ({ on: "event", nth: 1, does: "start" }) as const),
      ...Array.from({ length: 12 }, (_, index) => {
        const to = { on: "event", run: index / 12 } as const;
        const sent = { ...to, nth: 96, does: "send", event: 0 } as const;
        return [sent, { ...to, nth: 97 + index, does: "cancel" } as const];
      }).flat(),
    ],
  ),
  // Old iterations are removed with what is below them, and it goes on from one that is kept.
  scene(
    "goesOnFromIteration",
    `
export const goesOnFromIteration = defineWorkflow({ input })
  .loop("again", {
    initial: () => 0,
    body: (b) => b
      .each("items", {
        of: ({ input }) => [input.n],
        body: (c) => c.step("does", { mutation: async (ctx, { input }, info) => change(ctx, info, "does", { input }) }),
      })
      .step("next", { query: (_ctx, { loop }) => loop.iteration }),
    until: ({ loop }) => loop.iteration >= 215,
    maxIterations: 215,
  })
  .step("after", { mutation: async (ctx, { input }, info) => change(ctx, info, "after", { input }) });
`,
    [
      { on: "event", nth: ENCORE, does: "restart", run: 0, from: 0, iteration: 150 },
      { on: "event", nth: ENCORE, does: "restart", run: 0, from: 0, iteration: 215, input: true },
      { on: "event", nth: ENCORE, does: "restart", run: 0, from: 0, iteration: 50 },
    ],
  ),
  // Children that are inserted in pages: paused, resumed, and canceled before all are there.
  scene(
    "comesInPages",
    `
export const naps = defineWorkflow({ input }).sleep("nap", 600_000);
export const comesInPages = defineWorkflow({ input })
  .parent("all", {
    children: ({ input }) => Array.from({ length: 1_050 }, () => child(naps, input)),
    tolerate: "all",
  });
`,
    [
      { on: "event", nth: 8, does: "pause", run: 0 },
      { on: "event", nth: 14, does: "resume", run: 0 },
      { on: "event", nth: 20, does: "cancel", run: 0 },
      { on: "event", nth: 24, does: "look" },
    ],
  ),
  // Four end at once, and one waits: no more than one of them may have it begin.
  scene(
    "oneIsLeft",
    `
export const dozes = defineWorkflow({ input })
  .sleep("equally", 60_000)
  .step("does", { mutation: async (ctx, { input }, info) => change(ctx, info, "does", { input }) });
export const oneIsLeft = defineWorkflow({ input })
  .parent("all", {
    children: ({ input }) => Array.from({ length: 5 }, (_, index) => child(dozes, below({ input }, "all", index))),
    concurrency: 4,
  })
  .step("after", { mutation: async (ctx, { input }, info) => change(ctx, info, "after", { input }) });
`,
  ),
].map((each, index) => ({ ...each, seed: index + 1 }));

/** With nothing in its plan: whether it is held against the interpreter, and comes to the same. */
interface Compared {
  readonly says: string;
  readonly scenario: Scenario;
  readonly isCompared: boolean;
}

function compared(says: string, top: string, definition: string, isCompared = true): Compared {
  const scenario: Scenario = {
    seed: 0,
    class: "s16",
    top,
    definition: IMPORTS + definition,
    plan: [],
  };
  return { says, scenario, isCompared };
}

/* What the simulator itself took for a fault, once; a seed found each. */
export const COMPARED: readonly Compared[] = [
  compared(
    "an output may hold the error of a child",
    "letFail",
    `
export const failing = defineWorkflow({ input })
  .step("n1", { query: (_ctx, { input }) => look("n1", { input }, { fails: "throws" }) });
export const letFail = defineWorkflow({ input })
  .parent("n1", { children: ({ input }) => [child(failing, below({ input }, "n1", 0))], tolerate: "all" });
`,
  ),
  compared(
    "a workflow of sleeps alone has no record with its output",
    "sleepsAlone",
    `
export const sleepsAlone = defineWorkflow({ input }).sleep("n1", 60_000).sleep("n2", 120_000);
`,
  ),
  compared(
    "what a canceled sibling could not undo is listed, though it has ended before its parent is told",
    "tellsAll",
    `
export const stuck = defineWorkflow({ input })
  .step("n1", {
    mutation: (ctx, { input }, info) => change(ctx, info, "n1", { input }),
    compensate: { mutation: (ctx, { input }, info) => change(ctx, info, "n1.compensate", { input }, { fails: "throws" }) },
  })
  .sleep("n2", 600_000);
export const breaks = defineWorkflow({ input })
  .sleep("n1", 60_000)
  .step("n2", { query: (_ctx, { input }) => look("n2", { input }, { fails: "throws" }) });
export const tellsAll = defineWorkflow({ input })
  .parent("n1", { children: ({ input }) => [child(stuck, below({ input }, "n1", 0)), child(breaks, below({ input }, "n1", 1))] });
`,
  ),
  compared(
    "of actions that waited for a slot the interpreter knows nothing",
    "crowded",
    `
export const acts = defineWorkflow({ input })
  .step("n1", { action: (ctx, { input }, info) => act(ctx, info, "n1", { input }) });
export const crowded = defineWorkflow({ input })
  .parent("n1", { children: ({ input }) => Array.from({ length: 12 }, (_, key) => child(acts, below({ input }, "n1", key))), concurrency: 12 });
`,
    false,
  ),
];
