import { ConvexError, convexToJson, type Value } from "convex/values";
import { cleaned, Failure } from "./failure.js";

/** Calls a function of the app. @throws a {@link Failure} if it is gone, or its result refused. */
export async function callFor<Result>(stage: string, args: unknown, call: () => Promise<Result>) {
  // The caller's own arguments are refused in the same words.
  convexToJson((args ?? {}) as Value);
  try {
    return await call();
  } catch (error) {
    throw missing(stage, error) ?? refusedResult(stage, error) ?? error;
  }
}

/** How a deployment, and convex-test, say that there is no such function. */
const MISSING =
  /^(?:Could not find (?:public )?function for '|Could not find module for: |Expected a Convex function exported from module )/;

function missing(stage: string, error: unknown): Failure | undefined {
  if (!(error instanceof Error) || !MISSING.test(error.message)) return undefined;
  const [what] = error.message.split("\n");
  return new Failure("removedNode", `The function of "${stage}" no longer exists: ${what}`);
}

/** How Convex says that a value is not a Convex value. */
const REFUSED =
  /\bis not a (?:supported Convex type|valid Convex value)|\bdoes not fit into a 64-bit|^(?:Uncaught Error: )?(?:Field name |Return value is a Query)/;
/** Stack frames of Convex: it checks a result, calls itself, or has called a function. */
const CONVERSION = /\bconvex\/(?:src|dist\/esm)\/values\/|^validateReturnValue /;
const BETWEEN = /\(<anonymous>\)$/;
const INVOCATION = /^(?:async )?invoke\w+ .*\bregistration_impl\b/;

/** The stage's failure if a function's result was refused; undefined if something else was. */
function refusedResult(stage: string, error: unknown): Failure | undefined {
  if (!(error instanceof Error) || error instanceof ConvexError) return undefined;
  // Only a deployment puts the stack into the message, which tells where the value came from.
  const frames = [...error.message.matchAll(/^\s+at (.+)$/gm)].map(([, frame = ""]) => frame);
  const ofResult = [CONVERSION, BETWEEN, INVOCATION];
  const isRefused =
    frames.length === 0
      ? REFUSED.test(error.message)
      : frames.some((frame) => CONVERSION.test(frame)) &&
        frames.every((frame) => ofResult.some((where) => where.test(frame)));
  if (!isRefused) return undefined;
  return new Failure(
    "invalidOutput",
    `The result of "${stage}" cannot be stored: ${cleaned(error.message)}`,
  );
}
