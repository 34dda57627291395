/** A value as it would be written in a definition, for messages: `NaN`, which JSON makes null, `"10 minuts"`, `{ failures: -1 }`. */
export function literalText(value: unknown): string {
  if (typeof value === "string") return JSON.stringify(value);
  if (typeof value === "function") return "a function";
  if (value instanceof Date) return "a Date";
  if (Array.isArray(value)) return "a list";
  if (typeof value !== "object" || value === null) return String(value);
  const fields = Object.entries(value).map(([name, field]) => `${name}: ${literalText(field)}`);
  return fields.length === 0 ? "{}" : `{ ${fields.join(", ")} }`;
}
