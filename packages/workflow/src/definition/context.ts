import type {
  GenericActionCtx,
  GenericDataModel,
  GenericMutationCtx,
  GenericQueryCtx,
} from "convex/server";
import type { StepError } from "./step-error.js";

/** The generated `index.ts` declares the app's `dataModel` here, for the types of `ctx`. */
export interface Register {}

type DataModel = Register extends { dataModel: infer Model extends GenericDataModel }
  ? Model
  : GenericDataModel;
export type ActionCtx = GenericActionCtx<DataModel>;
export type MutationCtx = GenericMutationCtx<DataModel>;
export type QueryCtx = GenericQueryCtx<DataModel>;

/** What the `args` of a reference can ask about its execution; their second parameter. */
export type CallInfo = Omit<Info, "signal" | "isCanceled">;

/** What a handler can ask about its own execution; its third parameter. */
export interface Info {
  /** The run's id, as `workflow.start` returned it. */
  readonly runId: string;
  /** Which attempt this is, from 1. */
  readonly attempt: number;
  /** The same on every attempt of one step record, and on no other. */
  readonly idempotencyKey: string;
  /** Why the attempt before this one failed; null on the first. */
  readonly previousError: StepError | null;
  /** Aborted when the step's `timeout` is over. Never aborted in a mutation or query. */
  readonly signal: AbortSignal;
  /**
   * Asks whether the run was canceled meanwhile, timed out, failed elsewhere or was restarted, so
   * that this handler's result will change nothing. For long actions. Always false in a mutation or
   * query.
   */
  readonly isCanceled: () => Promise<boolean>;
}
