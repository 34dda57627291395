import { literalText } from "@stepwise/workpool/core/literal";

/* Rules of both compiler and run time. They import one small file: the compiler starts fast. */

export { literalText };

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

/** The longest duration, in ms: that of a sleep, a timeout or a retention. */
export const MAX_DURATION_MS = 365 * DAY;
/** Raised when generated code and run time change together, so that neither misreads the other. */
export const GENERATED_FORMAT = 1;
export const MAX_ATTEMPTS = 1_000;
export const MAX_ITERATIONS = 100_000;

/** The key of a case as one name of a path: in quotes if it has a dot, as these part names. */
export const inPath = (key: string): string => (key.includes(".") ? `"${key}"` : key);

/** Reads JSON. @throws if it is none, or has a field `__proto__`, which Convex would drop. */
export function jsonOf(text: string): unknown {
  return JSON.parse(text, (name, value: unknown) => {
    if (name === "__proto__") throw new SyntaxError("No field can be called __proto__");
    return value;
  });
}

/** The names of a path. */
export const namesInPath = (path: string): string[] =>
  Array.from(path.matchAll(/(?:^|\.)("[^]*?"(?=\.|$)|[^.]*)/g), ([, name = ""]) => name);

/** A duration in ms; undefined if it is none, is negative, or is not finite. */
export function parseDuration(value: unknown): number | undefined {
  const ms = typeof value === "string" ? parseText(value) : value;
  return typeof ms === "number" && Number.isFinite(ms) && ms >= 0 ? ms : undefined;
}

function parseText(text: string): number {
  const [, amount, unit = ""] = /^(\d+(?:\.\d+)?) ?([a-z]+)$/.exec(text) ?? [];
  // Only words have a plural.
  const singular = unit.length > 3 ? unit.replace(/s$/, "") : unit;
  const factor = Object.entries(UNITS).find(([name]) => name === singular)?.[1];
  return Number(amount) * (factor ?? NaN);
}

/** A run has at most so many: each is a row that its start writes and its removal deletes. */
export const MOST_TAGS = 10;

/**
 * A parent of up to so many children may start them in the transaction that reaches it, and is
 * canceled together with them: they hardly conflict with it.
 */
export const FEW_CHILDREN = 10;

/**
 * How many starts a run collects at most: their rows are deleted in the transaction that begins it.
 */
export const MOST_ITEMS = 1_000;

/** A duration in ms. @param what whose it is. @throws if it is none, or over a year. */
export function durationMs(duration: Duration, what?: string): number {
  const ms = parseDuration(duration);
  const given = literalText(duration);
  if (ms !== undefined) return atMostYear(ms, what ?? "A duration", given);
  const whose = what === undefined ? given : `${what} is ${given}, which`;
  throw new Error(
    `${whose} is not a duration: write a number of ms from 0, or text such as "90s", "10m" or "3 days"`,
  );
}

/** @throws if it is more than a year. @param given how the message calls the duration. */
export function atMostYear(ms: number, what: string, given: string): number {
  if (ms <= MAX_DURATION_MS) return ms;
  throw new Error(`${what} is ${given}: more than a year is not possible`);
}

/** A time in ms, in the largest unit that leaves no fraction: `"90s"`, `"1h"`, `"1500ms"`. */
export function durationText(ms: number): string {
  const unit = (["d", "h", "m", "s"] as const).find((each) => ms > 0 && ms % UNITS[each] === 0);
  return unit === undefined ? `${ms}ms` : `${ms / UNITS[unit]}${unit}`;
}

/** A time of day in a time zone: the next moment at which the clocks there show it. */
export interface LocalTime {
  /** Hours and minutes, such as `"02:30"`. */
  readonly at: string;
  /** A name of the IANA time zone database, such as `"Europe/Berlin"`. */
  readonly zone: string;
}

/** The longest wait for a time of day, in ms: a day of which an hour comes twice. */
export const LONGEST_DAY_MS = DAY + HOUR;

/** A time of day in ms since midnight; undefined if it is none. */
export function parseTimeOfDay(at: unknown): number | undefined {
  const [, hours, minutes] =
    (typeof at === "string" && /^([01]\d|2[0-3]):([0-5]\d)$/.exec(at)) || [];
  return hours === undefined ? undefined : Number(hours) * HOUR + Number(minutes) * MINUTE;
}

export function isTimeZone(zone: unknown): zone is string {
  if (typeof zone !== "string") return false;
  try {
    Intl.DateTimeFormat("en", { timeZone: zone });
    return true;
  } catch {
    return false;
  }
}

/**
 * The nearest known name; undefined if none is near enough to be a typo. Of two that are equally
 * near, one with a character left out, doubled or swapped comes before one with another character.
 */
export function nearest(name: string, known: Iterable<string>): string | undefined {
  const reach = Math.max(1, Math.floor(name.length / 3));
  let best: { name: string; distance: number } | undefined;
  for (const candidate of known) {
    const distance = distanceOf(name.toLowerCase(), candidate.toLowerCase());
    if (Math.floor(distance) <= reach && (best === undefined || distance < best.distance))
      best = { name: candidate, distance };
  }
  return best?.name;
}

/** What a message says after an unknown name: the nearest known one, or all of them. */
export function suggestion(name: string, known: readonly string[]): string {
  // Types are not checked at run time.
  const likely = nearest(String(name), known);
  if (likely !== undefined) return `. Did you mean "${likely}"?`;
  return known.length === 0 ? "" : `; there is ${known.map((one) => `"${one}"`).join(", ")}`;
}

/** A plural in the place of a singular is one mistake, however long its ending is. */
const distanceOf = (name: string, known: string): number =>
  singular(name) === known ? 1 : editDistance(name, known);

const singular = (name: string): string => name.replace(/ies$/, "y").replace(/s$/, "");

/** A replaced character counts a little more than one that was left out, doubled or swapped. */
const REPLACED = 1.01;

/** How many characters must be inserted, removed, replaced or swapped with their neighbor. */
function editDistance(from: string, to: string): number {
  let beforePrevious: number[] = [];
  let previous = Array.from({ length: to.length + 1 }, (_, column) => column);
  for (let row = 1; row <= from.length; row++) {
    const current = [row];
    for (let column = 1; column <= to.length; column++) {
      const isSame = from[row - 1] === to[column - 1];
      const isSwapped = from[row - 1] === to[column - 2] && from[row - 2] === to[column - 1];
      current.push(
        Math.min(
          previous[column - 1]! + (isSame ? 0 : REPLACED),
          previous[column]! + 1,
          current[column - 1]! + 1,
          row > 1 && column > 1 && isSwapped ? beforePrevious[column - 2]! + 1 : Infinity,
        ),
      );
    }
    beforePrevious = previous;
    previous = current;
  }
  return previous[to.length]!;
}
