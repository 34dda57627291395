import { getConvexSize, type Value } from "convex/values";

const KIB = 1024;
const MIB = 1024 * KIB;

/** Limits of a Convex deployment that convex-test does not model. Sizes in bytes. */
export const LIMITS = {
  /** Calls below the outermost function of one transaction. */
  nesting: 8,
  /** Elements of any array in arguments or results, at any depth. */
  arrayLength: 8192,
  argumentsSize: 16 * MIB,
  resultSize: 16 * MIB,
  /** Arguments of one scheduled function. */
  scheduledArgumentsSize: 4 * MIB,
} as const;

export type Limit = keyof typeof LIMITS;

/** A call that a deployment would have refused. */
export interface Violation {
  /** Where: `component/module:export`, without the component for the app. */
  readonly function: string;
  readonly limit: Limit;
  readonly allowed: number;
  readonly actual: number;
  readonly message: string;
}

/** Thrown in the place where a deployment would have thrown. Recognise it by its name. */
export class LimitError extends Error {
  override readonly name = "LimitError";
  constructor(readonly violation: Violation) {
    super(violation.message);
  }
}

export function checkNesting(where: string, depth: number): Violation | undefined {
  if (depth <= LIMITS.nesting) return undefined;
  return violation(
    where,
    "nesting",
    depth,
    `was called ${depth} levels below the outermost function of its transaction`,
  );
}

/** Checks one value that crosses a function boundary: every array in it, then its size. */
export function checkValue(
  where: string,
  value: unknown,
  size: "argumentsSize" | "resultSize" | "scheduledArgumentsSize",
): Violation | undefined {
  const what = WHAT[size];
  const array = longArray(value, "");
  if (array !== undefined) {
    const place = array.path === "" ? "" : ` at ${array.path}`;
    const found = `${what} with an array of ${array.length} elements${place}`;
    return violation(where, "arrayLength", array.length, found);
  }
  const bytes = sizeOf(value);
  if (bytes <= LIMITS[size]) return undefined;
  return violation(where, size, bytes, `${what} of ${bytes} bytes`);
}

const WHAT = {
  argumentsSize: "was called with arguments",
  resultSize: "returned a value",
  scheduledArgumentsSize: "was scheduled with arguments",
} as const;

function violation(where: string, limit: Limit, actual: number, what: string): Violation {
  const allowed = LIMITS[limit];
  const message = `"${where}" ${what}; Convex allows at most ${allowed}. (${limit})`;
  return { function: where, limit, allowed, actual, message };
}

function longArray(value: unknown, path: string): { path: string; length: number } | undefined {
  if (Array.isArray(value)) {
    if (value.length > LIMITS.arrayLength) return { path, length: value.length };
    for (const [index, element] of value.entries()) {
      if (typeof element !== "object") continue;
      const found = longArray(element, `${path}[${index}]`);
      if (found !== undefined) return found;
    }
    return undefined;
  }
  if (value === null || typeof value !== "object" || value instanceof ArrayBuffer) return undefined;
  for (const [key, field] of Object.entries(value)) {
    const found = longArray(field, path === "" ? key : `${path}.${key}`);
    if (found !== undefined) return found;
  }
  return undefined;
}

function sizeOf(value: unknown): number {
  try {
    return getConvexSize((value ?? null) as Value);
  } catch {
    // Not a Convex value. convex-test says so itself, better than a size check could.
    return 0;
  }
}
