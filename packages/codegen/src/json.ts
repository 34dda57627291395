export const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** A text as a JSON object; undefined if it is anything else. */
export function jsonObject(text: string): Record<string, unknown> | undefined {
  try {
    const json: unknown = JSON.parse(text.replace(/^\ufeff/, ""));
    return isRecord(json) ? json : undefined;
  } catch {
    return undefined;
  }
}
