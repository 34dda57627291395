type Unit = "ms" | "s" | "m" | "h" | "d";
type Word = "second" | "minute" | "hour" | "day" | "week";

/** A number of ms, or text such as `"90s"`, `"10m"`, `"3 days"`. */
export type Duration = number | `${number}${Unit}` | `${number} ${Word | `${Word}s`}`;

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const UNITS = {
  ms: 1,
  s: SECOND,
  second: SECOND,
  m: MINUTE,
  minute: MINUTE,
  h: HOUR,
  hour: HOUR,
  d: DAY,
  day: DAY,
  week: 7 * DAY,
} satisfies Record<Unit | Word, number>;

/**
 * A duration in ms.
 * @throws where the text cannot be read, or the number is negative or not finite.
 */
export function durationMs(duration: Duration): number {
  const ms = typeof duration === "number" ? duration : parse(duration);
  if (Number.isFinite(ms) && ms >= 0) return ms;
  throw new Error(
    `${JSON.stringify(duration)} is not a duration: write a number of ms, or text such as "90s", "10m" or "3 days"`,
  );
}

/** A time in ms as a person would write it: in the largest unit that leaves no fraction, `"90s"`, `"1h"`, `"1500ms"`. */
export function durationText(ms: number): string {
  const unit = (["d", "h", "m", "s"] as const).find((unit) => ms > 0 && ms % UNITS[unit] === 0);
  return unit === undefined ? `${ms}ms` : `${ms / UNITS[unit]}${unit}`;
}

function parse(text: string): number {
  const [, amount, unit = ""] = /^(\d+(?:\.\d+)?) ?([a-z]+)$/.exec(text) ?? [];
  const units: Readonly<Record<string, number>> = UNITS;
  const factor = units[unit] ?? units[unit.replace(/s$/, "")];
  return amount === undefined || factor === undefined ? NaN : Number(amount) * factor;
}
