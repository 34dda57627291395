import { misshapeOf } from "@stepwise/workpool/core";
import { convexToJson, getConvexSize, jsonToConvex, type Value } from "convex/values";
import { Failure } from "./errors/failure.js";

/** A document holds 1 MiB, and a value's record needs a little itself. */
export const MAX_VALUE_BYTES = 1_000_000;

/** A document has 16 levels; a loop's state stands in a field of a field. */
const MAX_DEPTH = 14;

/** How messages call a value that is to be stored, and what they advise. */
interface Stored {
  readonly subject: string;
  readonly root: string;
  readonly maxDepth: number;
  /** The kind of the failure if no such value can be stored, and how its message goes on. */
  readonly kind: "invalidInput" | "invalidOutput";
  readonly cannot: string;
  readonly advice: string;
}

/** @throws a {@link Failure} if the value is no Convex value; `tooLarge` if it does not fit. */
export function checkStorable(
  value: Value,
  { subject, root, maxDepth, kind, cannot, advice }: Stored,
): void {
  const unfit = (why: string) => new Failure(kind, `${subject} ${cannot}: ${why}`);
  const tooLarge = (what: string) => new Failure("tooLarge", `${subject} ${what}. ${advice}`);
  // Convex says so without the place.
  if (value === undefined) throw unfit(`${root} is undefined: write null`);
  const misshape = misshapeOf(value, root, maxDepth);
  if (misshape !== undefined)
    throw misshape.isTooLarge ? tooLarge(misshape.text) : unfit(misshape.text);
  try {
    convexToJson(value);
  } catch (error) {
    throw unfit((error as Error).message);
  }
  const size = getConvexSize(value);
  if (size > MAX_VALUE_BYTES)
    throw tooLarge(`takes ${size} bytes; at most ${MAX_VALUE_BYTES} can be stored`);
}

/** A handler's result as it is stored: nothing is null. @throws as {@link checkStorable} does. */
export function checkedOutput(stage: string, result: unknown): Value {
  const output = (result ?? null) as Value;
  checkStorable(output, {
    subject: `The result of "${stage}"`,
    root: "result",
    maxDepth: MAX_DEPTH,
    kind: "invalidOutput",
    cannot: "cannot be stored",
    advice: "Put it into file storage or one of your tables, and return its id",
  });
  return output;
}

export function copied(value: unknown): unknown {
  return value === undefined ? undefined : jsonToConvex(convexToJson(value as Value));
}

/* No array of more than 8,192 elements can cross a function boundary, so it is split. */
const PAGES = "~pages";
const PAGE = 8_000;

/** Returns outputs of children, or what is made of them, as they cross a function boundary. */
export function inPages(outputs: unknown): unknown {
  // An app's own value that has such a field is put into one, so that none is taken for pages.
  if (!Array.isArray(outputs)) return isMarked(outputs) ? { [PAGES]: "none", outputs } : outputs;
  if (outputs.length <= PAGE) return outputs;
  const pages: unknown[] = [];
  for (let at = 0; at < outputs.length; at += PAGE) pages.push(outputs.slice(at, at + PAGE));
  return { [PAGES]: pages };
}

export function fromPages(outputs: unknown): unknown {
  if (!isMarked(outputs)) return outputs;
  const { [PAGES]: pages, ...others } = outputs;
  if (pages === "none" && "outputs" in others) return others.outputs;
  // A value that was stored before such fields were put into another is no list of full pages.
  const isPaged =
    Object.keys(others).length === 0 &&
    Array.isArray(pages) &&
    pages.length > 1 &&
    pages.every((page, at) => Array.isArray(page) && (isLast(pages, at) || page.length === PAGE));
  return isPaged ? pages.flat() : outputs;
}

const isLast = (all: readonly unknown[], at: number): boolean => at === all.length - 1;

const isMarked = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && Object.hasOwn(value, PAGES);

export function fromPagesIn(scope: unknown): unknown {
  if (typeof scope !== "object" || scope === null || !("children" in scope)) return scope;
  return { ...scope, children: fromPages(scope.children) };
}
