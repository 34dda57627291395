import { isTimeZone, literalText, type LocalTime, parseTimeOfDay } from "../rules.js";

const DAY_MS = 24 * 60 * 60_000;

/**
 * The next moment after `now`, in ms since the epoch, at which the clocks of the zone show the
 * time. It comes once a day. A time that is skipped comes as much later as the clocks jump ahead.
 * If a time comes twice, the first counts. `Temporal` does the same by default ("compatible").
 * @param what how messages call it.
 * @throws if it is no time of day, or its zone is not known.
 */
export function nextAt({ at, zone }: LocalTime, now: number, what: string): number {
  const time = parseTimeOfDay(at);
  if (time === undefined)
    throw new Error(`${what} is at ${literalText(at)}: write hours and minutes, as "02:30"`);
  if (!isTimeZone(zone))
    throw new Error(
      `${what} is in the zone ${literalText(zone)}: write one such as "Europe/Berlin"`,
    );
  const clocks = clocksOf(zone);
  const today = Math.floor(clocks(now) / DAY_MS) * DAY_MS;
  let next = -Infinity;
  // That of yesterday may come today, where clocks jump over midnight.
  for (let day = today - DAY_MS; next <= now; day += DAY_MS) next = momentOf(day + time, clocks);
  return next;
}

/** What the clocks of a zone show at a moment, as if it were UTC. */
type Clocks = (moment: number) => number;

function clocksOf(zone: string): Clocks {
  const format = new Intl.DateTimeFormat("en", {
    timeZone: zone,
    calendar: "gregory",
    numberingSystem: "latn",
    hourCycle: "h23",
    year: "numeric",
    month: "numeric",
    day: "numeric",
    hour: "numeric",
    minute: "numeric",
    second: "numeric",
  });
  return (moment) => {
    const parts = format.formatToParts(moment).map(({ type, value }) => [type, Number(value)]);
    const { year, month, day, hour, minute, second } = Object.fromEntries(parts) as Parts;
    return Date.UTC(year, month - 1, day, hour, minute, second);
  };
}

type Parts = Record<"year" | "month" | "day" | "hour" | "minute" | "second", number>;

/** The moment at which clocks show a time: the first of two; what it had been, if none is. */
function momentOf(shown: number, clocks: Clocks): number {
  // No zone changes its clocks twice within two days.
  const [before, after] = [shown - DAY_MS, shown + DAY_MS].map((near) => near - clocks(near));
  const moments = [before, after].map((offset) => shown + (offset as number));
  return moments.find((moment) => clocks(moment) === shown) ?? (moments[0] as number);
}
