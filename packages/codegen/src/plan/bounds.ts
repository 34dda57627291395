/** A workflow of thousands of nodes, or hundreds of nested branches, stays far below these. */
const maxDepth = 4_000;
const maxValues = 2_000_000;
const maxItems = 100_000;
const maxText = 1_000_000;

/** Names that mean something on every object. */
const unsafeKeys = new Set(["__proto__", "constructor", "prototype"]);

/** Why a parsed JSON value must not be read further; undefined if it may. Without recursion. */
export function boundsProblem(json: unknown): string | undefined {
  const open: { value: unknown; depth: number }[] = [{ value: json, depth: 0 }];
  let seen = 0;
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const { value, depth } = next;
    if (++seen > maxValues) return `it holds more than ${maxValues} values`;
    if (typeof value === "string" && value.length > maxText)
      return `it holds a text of ${value.length} characters`;
    if (typeof value !== "object" || value === null) continue;
    if (depth >= maxDepth) return `it is nested more than ${maxDepth} deep`;
    const fields = Object.entries(value);
    if (fields.length > maxItems) return `it holds a list of ${fields.length} items`;
    for (const [key, each] of fields) {
      if (unsafeKeys.has(key)) return `it holds a field ${JSON.stringify(key)}`;
      open.push({ value: each, depth: depth + 1 });
    }
  }
  return undefined;
}
