import type { StagePlan } from "../../plan/schema.js";
import { action } from "./action.js";
import { branch } from "./branch.js";
import { children } from "./children.js";
import { loop } from "./loop.js";
import type { StageLowering } from "./lowering.js";
import { transaction } from "./transaction.js";
import { child, event, sleep } from "./waiting.js";

/** Every kind of stage. A new kind is one entry here. */
export const stageLowerings: Readonly<Record<StagePlan["kind"], StageLowering>> = {
  action,
  mutation: transaction("mutation"),
  query: transaction("query"),
  children,
  sleep,
  event,
  branch,
  loop,
  child,
};
