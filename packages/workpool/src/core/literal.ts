/* No imports: the compiler shows values too, and starts fast. */

/** More of a text is cut off in a message. */
const SHOWN = 100;
const MOST_LEVELS = 3;
const MOST_FIELDS = 8;

/** Says whether it is a promise. Nothing waits for it: that it fails is handled here. */
export function isPromise(value: unknown): value is Promise<unknown> {
  if (value instanceof Promise) value.catch(() => {});
  return value instanceof Promise;
}

/**
 * A value as it is written in a definition: `NaN`, `"10 minuts"`, `{ failures: -1 }`. What is shown
 * is refused, so nothing waits for a promise in it.
 */
export function literalText(value: unknown, depth = 0): string {
  if (typeof value === "string") return JSON.stringify(cut(value));
  if (typeof value === "bigint") return `${value}n`;
  if (typeof value === "function") return "a function";
  if (typeof value !== "object" || value === null) return String(value);
  try {
    return objectText(value, depth);
  } catch {
    // A getter or a proxy may throw.
    return "an object that cannot be read";
  }
}

const cut = (text: string): string => (text.length > SHOWN ? `${text.slice(0, SHOWN)}…` : text);

function objectText(value: object, depth: number): string {
  if (Array.isArray(value)) return "a list";
  if (isPromise(value)) return "a Promise";
  if (!isPlain(value)) {
    // An iterator has no class of its own.
    const { [Symbol.toStringTag]: tag } = value as { [Symbol.toStringTag]?: unknown };
    const name = typeof tag === "string" ? tag : String(value.constructor.name);
    return `${/^[AEIO]/i.test(name) ? "an" : "a"} ${name}`;
  }
  // It may be in itself.
  if (depth === MOST_LEVELS) return "{ … }";
  const fields = Object.entries(value);
  const shown = fields
    .slice(0, MOST_FIELDS)
    .map(([name, field]) => `${cut(name)}: ${literalText(field, depth + 1)}`);
  if (fields.length > MOST_FIELDS) shown.push("…");
  return shown.length === 0 ? "{}" : `{ ${shown.join(", ")} }`;
}

/** Says whether it is an object of no class, so that its fields are all there is to it. */
export function isPlain(value: unknown): value is Readonly<Record<string, unknown>> {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return false;
  const prototype: object | null = Object.getPrototypeOf(value);
  // An iterator, of which Convex would make {}, has a prototype above its own.
  return prototype === null || Object.getPrototypeOf(prototype) === null;
}
