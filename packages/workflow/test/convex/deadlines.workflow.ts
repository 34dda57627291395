import { child, defineWorkflow } from "@stepwise/workflow";
import { z } from "zod";

/** Sleeps longer than it may take. */
export const oversleeps = defineWorkflow({ input: z.object({}), timeout: "1h" }).sleep("nap", "1d");

const day = defineWorkflow({ input: z.object({}) }).sleep("nap", "1d");
export { day as wholeDay };
/** Its children do. */
export const outlasts = defineWorkflow({ input: z.object({}) }).parent("all", {
  children: () => [child(day, {})],
  timeout: "1h",
});

/** Nobody sends it what it waits for. */
export const unanswered = defineWorkflow({ input: z.object({}) }).event("answer", {
  schema: z.string(),
  timeout: "1h",
});
