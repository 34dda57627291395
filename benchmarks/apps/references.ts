import { makeFunctionReference } from "convex/server";

/** References to `steps.ts`, which both apps have. */
export const steps = {
  act: makeFunctionReference<"action", { n: number }, number>("steps:act"),
  actFor: makeFunctionReference<"action", { n: number; ms: number }, number>("steps:actFor"),
  actLarge: makeFunctionReference<"action", { ms: number; text: string }, string>("steps:actLarge"),
  actAtSecond: makeFunctionReference<"action", { n: number }, number>("steps:actAtSecond"),
  write: makeFunctionReference<"mutation", { n: number }, number>("steps:write"),
  insert: makeFunctionReference<"mutation", { n: number }, number>("steps:insert"),
  read: makeFunctionReference<"query", { n: number }, number>("steps:read"),
};
