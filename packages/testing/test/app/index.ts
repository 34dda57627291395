import { Counter, type CounterOptions } from "../../src/index.js";
import schema from "./schema.js";
import tallySchema from "./tallySchema.js";

/** A tiny app with one component, counted. */
export function countedApp(options?: CounterOptions) {
  const counter = new Counter(options);
  const t = counter.convexTest({
    schema,
    modules: {
      "../app/_generated/api.ts": async () => ({}),
      "../app/tasks.ts": () => import("./tasks.js"),
    },
  });
  t.registerComponent("tally", tallySchema, {
    "./_generated/api.ts": async () => ({}),
    "./tally.ts": () => import("./tally.js"),
  });
  return { counter, t };
}
