/* No imports: the compiler shows values too, and starts fast. */

/** More of a text is cut off in a message. */
const SHOWN = 100;
const MOST_LEVELS = 3;
const MOST_FIELDS = 8;

/** A value as it is written in a definition: `NaN`, `"10 minuts"`, `{ failures: -1 }`. */
export function literalText(value: unknown, depth = 0): string {
  if (typeof value === "string")
    return JSON.stringify(value.length > SHOWN ? `${value.slice(0, SHOWN)}…` : value);
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

function objectText(value: object, depth: number): string {
  if (Array.isArray(value)) return "a list";
  if (!isPlain(value)) {
    const name = String(value.constructor.name);
    return `${/^[AEIO]/i.test(name) ? "an" : "a"} ${name}`;
  }
  // It may be in itself.
  if (depth === MOST_LEVELS) return "{ … }";
  const fields = Object.entries(value);
  const shown = fields
    .slice(0, MOST_FIELDS)
    .map(([name, field]) => `${name}: ${literalText(field, depth + 1)}`);
  if (fields.length > MOST_FIELDS) shown.push("…");
  return shown.length === 0 ? "{}" : `{ ${shown.join(", ")} }`;
}

/** Says whether it is an object as Convex takes one: no list, and of no class. */
export function isPlain(value: unknown): value is Readonly<Record<string, unknown>> {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return false;
  const prototype: object | null = Object.getPrototypeOf(value);
  return prototype === null || prototype.constructor?.name === "Object";
}
