import type { Scenario } from "./scenario.js";

/*
 * What seeds come to too seldom: moments that must meet, written down. The numbers of their seeds
 * count from 1, as `npm run sim -- --profile scenes` plays them.
 */

const IMPORTS = `
import { child, defineWorkflow } from "@stepwise/workflow";
import { z } from "zod";
import { change } from "./behaviour";

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
    children: ({ input }) => Array.from({ length: 6 }, () => child(sleeps, input)),
  })
  .step("after", { mutation: async (ctx, { input }, info) => change(ctx, info, "after", { input }) });
`,
  ),
].map((each, index) => ({ ...each, seed: index + 1 }));
