/** As JSON, with maps and with numbers that JSON does not have. What has the value `undefined` is left out. */
export function toJson(value: unknown): string {
  return JSON.stringify(value, (_key, each: unknown) => {
    if (each instanceof Map) return { [mapKey]: [...each] };
    if (typeof each === "number" && (!Number.isFinite(each) || Object.is(each, -0)))
      return { [numberKey]: [Object.is(each, -0) ? "-0" : String(each)] };
    return each;
  });
}

/** What `toJson` was given. */
export function fromJson(text: string): unknown {
  const value: unknown = JSON.parse(text);
  return text.includes(`"${mapKey}"`) || text.includes(`"${numberKey}"`) ? revived(value) : value;
}

/** In place, which takes a fraction of what a reviver of `JSON.parse` does. */
function revived(value: unknown): unknown {
  if (typeof value !== "object" || value === null) return value;
  const fields = value as Record<string, unknown>;
  for (const key in fields) {
    const field = fields[key];
    if (typeof field === "object" && field !== null) fields[key] = revived(field);
  }
  const { [mapKey]: entries, [numberKey]: number } = fields;
  if (Array.isArray(entries)) return new Map(entries as [unknown, unknown][]);
  return Array.isArray(number) ? Number(number[0]) : value;
}

/* The values of options that plans hold have no lists, so neither can be one. */
const mapKey = "$map";
const numberKey = "$number";
