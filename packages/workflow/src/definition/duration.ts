import { literalText } from "./literal-text.js";

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
 * @param what whose duration it is, for the message: `the timeout of "charge"`.
 * @throws where it is neither a number nor a text that can be read, or is negative or not finite.
 */
export function durationMs(duration: Duration, what?: string): number {
  const ms = typeof duration === "string" ? parse(duration) : duration;
  // What is computed may be anything.
  if (typeof ms === "number" && Number.isFinite(ms) && ms >= 0) return ms;
  const given = literalText(duration);
  const whose = what === undefined ? given : `${what} is ${given}, which`;
  throw new Error(
    `${whose} is not a duration: write a number of ms from 0, or text such as "90s", "10m" or "3 days"`,
  );
}

/** A time in ms as a person would write it: in the largest unit that leaves no fraction, `"90s"`, `"1h"`, `"1500ms"`. */
export function durationText(ms: number): string {
  const unit = (["d", "h", "m", "s"] as const).find((unit) => ms > 0 && ms % UNITS[unit] === 0);
  return unit === undefined ? `${ms}ms` : `${ms / UNITS[unit]}${unit}`;
}

function parse(text: string): number {
  const [, amount, unit = ""] = /^(\d+(?:\.\d+)?) ?([a-z]+)$/.exec(text) ?? [];
  // Only words have a plural.
  const singular = unit.length > 3 ? unit.replace(/s$/, "") : unit;
  const factor = Object.entries(UNITS).find(([name]) => name === singular)?.[1];
  return amount === undefined || factor === undefined ? NaN : Number(amount) * factor;
}
