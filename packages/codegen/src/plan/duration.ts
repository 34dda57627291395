const units: ReadonlyMap<string, number> = new Map([
  ["ms", 1],
  ["s", 1_000],
  ["second", 1_000],
  ["m", 60_000],
  ["minute", 60_000],
  ["h", 3_600_000],
  ["hour", 3_600_000],
  ["d", 86_400_000],
  ["day", 86_400_000],
  ["week", 604_800_000],
]);

/** The texts that the language reads as durations: see `Duration` in the workflow package. */
const durationText = /^(\d+(?:\.\d+)?) ?(ms|s|m|h|d|second|minute|hour|day|week)(s?)$/;

/** A duration in ms; undefined when it is none. */
export function durationMs(value: unknown): number | undefined {
  if (typeof value === "number") return Number.isFinite(value) && value >= 0 ? value : undefined;
  if (typeof value !== "string") return undefined;
  const [, amount, unit = "", plural] = durationText.exec(value) ?? [];
  // Only words have a plural.
  if (amount === undefined || (plural === "s" && unit.length <= 2)) return undefined;
  const factor = units.get(unit);
  const ms = Number(amount) * (factor ?? NaN);
  return Number.isFinite(ms) ? ms : undefined;
}
