export { defineWorkflow, type Builder } from "./builder.js";
export {
  child,
  childNamed,
  type Child,
  type ChildrenOutput,
  type Settled,
  type Tolerate,
} from "./parent.js";
export { defineConfig, type Config } from "./definition.js";
export type {
  ActionCtx,
  CallInfo,
  Info,
  MutationCtx,
  QueryCtx,
  Register,
  TagValue,
} from "./context.js";
export type {
  Collect,
  Collected,
  Definition,
  EndedRun,
  InputFrom,
  Keep,
  Tags,
  WorkflowInput,
  WorkflowOptions,
  WorkflowOutput,
  WorkflowScope,
} from "./definition.js";
export type { Duration, LocalTime } from "../rules.js";
export type { Retry } from "./node.js";
export type { BudgetOption, LimitsOption } from "./limits.js";
export type { AnySchema, InferInput, InferOutput } from "./values.js";
export type { Each, Entries, Loop, NamesOf, ScopeOf } from "./scope.js";
// The types of definitions are made of these, so declarations of an app have to name them.
export type { Finalized, Tagged } from "./definition.js";
export type { Ended, Ends } from "./ending.js";
export type { Awaited, Named, Receives } from "./event.js";
export type { Absent, Starts } from "./parent.js";
export type { Sequence } from "./cases.js";
export type { ErrorKind, StepError } from "./context.js";
