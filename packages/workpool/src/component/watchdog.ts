import { poolFunctions } from "../core/index.js";
import { findLostStarts } from "./delayed.js";
import { host } from "./host.js";

/* The pool's own functions. */
export const {
  lookAtLanes,
  freeSlots,
  drainQueue,
  sweep,
  inspect,
  recover,
  seeForOwner,
  lookFairly,
  lookAtLine,
  countWaiting,
  endOverrides,
  endWaits,
  releaseRate,
  wakeLines,
} = poolFunctions(host, { inspect: findLostStarts });
