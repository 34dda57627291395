import { ConvexError, convexToJson, type Value } from "convex/values";
import { cleaned, Failure } from "./failure.js";

/**
 * Calls a function of the app by reference, for a stage.
 * @throws a {@link Failure} `invalidOutput`, with the path inside it, where its result is no Convex value: Convex refuses that inside the
 * function, and says so in the words it has for a document or an argument; `removedNode` where there is no such function (any more).
 */
export async function callFor<Result>(
  stage: string,
  args: unknown,
  call: () => Promise<Result>,
): Promise<Result> {
  // The caller's own arguments are refused in the same words.
  convexToJson((args ?? {}) as Value);
  try {
    return await call();
  } catch (error) {
    throw missing(stage, error) ?? refusedResult(stage, error) ?? error;
  }
}

/** How a deployment, and convex-test, say that there is no such function. What fails inside a function begins otherwise on a deployment. */
const MISSING =
  /^(?:Could not find (?:public )?function for '|Could not find module for: |Expected a Convex function exported from module )/;

function missing(stage: string, error: unknown): Failure | undefined {
  if (!(error instanceof Error) || !MISSING.test(error.message)) return undefined;
  const [what] = error.message.split("\n");
  return new Failure("removedNode", `The function of "${stage}" no longer exists: ${what}`);
}

/** How Convex says that a value is none of its own. */
const REFUSED =
  /\bis not a (?:supported Convex type|valid Convex value)|\bdoes not fit into a 64-bit|^(?:Uncaught Error: )?(?:Field name |Return value is a Query)/;
/** A frame of a stack where Convex looks at a result or converts it, calling itself by way of `map`; and one where it has called a function. */
const CONVERSION = /\bconvex\/(?:src|dist\/esm)\/values\/|^validateReturnValue /;
const BETWEEN = /\(<anonymous>\)$/;
const INVOCATION = /^(?:async )?invoke\w+ .*\bregistration_impl\b/;

/** That a function's result was refused, as the stage's failure; undefined where something else was. */
function refusedResult(stage: string, error: unknown): Failure | undefined {
  if (!(error instanceof Error) || error instanceof ConvexError) return undefined;
  // A deployment puts the stack into the message, so it is plain whence the value came; convex-test does not, and then the words must do.
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
