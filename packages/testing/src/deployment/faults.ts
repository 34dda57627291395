import type { FunctionPath } from "./job.js";

/** How an action fails: before it does anything, at its first report, after that, or by hanging. */
export type ActionFault = "dies at start" | "dies before report" | "dies after report" | "hangs";

/** How a call by an action goes wrong. `lost`: it does not arrive, or its answer does not. */
export interface CallFault {
  readonly lost?: "request" | "answer";
  /** It comes later, or a second time, after this many ms. */
  readonly lateMs?: number;
  readonly againMs?: number;
}

/** What goes wrong, asked at each occasion. By default, nothing does. */
export interface Faults {
  action?(path: FunctionPath): ActionFault | undefined;
  call?(path: FunctionPath): CallFault | undefined;
  /** Says whether a mutation's code runs out of its time: its transaction is dropped. */
  timesOut?(path: FunctionPath): boolean;
  /** [25] [48] Why a mutation is refused before its code runs, each time that it is to begin. */
  refuses?(path: FunctionPath): "TooManyWrites" | "TooManyConcurrentRequests" | undefined;
  /** How much of what a transaction may do a mutation has used up when it begins, from 0 to 1. */
  used?(path: FunctionPath): number;
  /** Says whether what a transaction reads now leaves no trace, so that no conflict guards it. */
  forgets?(): boolean;
  /** How many of the newest commits a stale snapshot lacks. */
  staleLag?(): number;
}
