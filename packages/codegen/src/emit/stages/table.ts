import type { StagePlan } from "../../plan/schema.js";
import { action } from "./action.js";
import { children } from "./children.js";
import type { StageLowering } from "./lowering.js";
import { transaction } from "./transaction.js";

/** Every kind of stage. A new kind is one entry here. */
export const stageLowerings: Readonly<Record<StagePlan["kind"], StageLowering>> = {
  action,
  mutation: transaction("mutation"),
  query: transaction("query"),
  children,
};
