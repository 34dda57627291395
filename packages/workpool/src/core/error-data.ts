import { convexToJson, getConvexSize, type Value } from "convex/values";
import { shortened } from "./result.js";
import { misshapeOf } from "./shape.js";

/** How much of an error is kept. */
export interface Kept {
  /** How many characters its message may have, … */
  readonly message: number;
  /** … how many bytes its data takes, and how deep that is nested. */
  readonly bytes: number;
  readonly depth: number;
}

/** Returns a message with the data that can be kept. If it cannot, the message says why. */
export function withData(
  message: string,
  data: unknown,
  most: Kept,
): { message: string; data: Value | undefined } {
  const unfit = data === undefined ? undefined : whyUnfit(data as Value, most);
  const tail = unfit === undefined ? "" : ` (${unfit.slice(0, 400)})`;
  // It is a Convex value if it is fit.
  const kept = unfit === undefined ? (data as Value | undefined) : undefined;
  return { message: shortened(message, most.message, tail), data: kept };
}

function whyUnfit(data: Value, { bytes: most, depth }: Kept): string | undefined {
  try {
    convexToJson(data);
  } catch {
    return "its data is no Convex value";
  }
  const bytes = getConvexSize(data);
  if (bytes > most) return `its data takes ${bytes} bytes; at most ${most} are kept`;
  const misshape = misshapeOf(data, "its data", depth);
  return misshape?.isTooLarge === true ? `its data ${misshape.text}` : misshape?.text;
}
