import { expect, test, vi } from "vitest";
import { nextAt } from "../src/runtime/local-time.js";
import { useTestApp } from "./harness.js";

const use = useTestApp();

const next = (at: string, zone: string, now: string): string =>
  new Date(nextAt({ at, zone }, Date.parse(now), "it")).toISOString().slice(0, 16);

test.each([
  ["in winter", "02:30", "Europe/Berlin", "2026-01-10T00:00Z", "2026-01-10T01:30"],
  ["in summer", "02:30", "Europe/Berlin", "2026-07-10T00:00Z", "2026-07-10T00:30"],
  ["now is over", "02:30", "Europe/Berlin", "2026-01-10T01:30Z", "2026-01-11T01:30"],
  [
    "tomorrow there, today here",
    "09:00",
    "Pacific/Auckland",
    "2026-01-10T20:00Z",
    "2026-01-11T20:00",
  ],
  ["yesterday there", "20:00", "America/Los_Angeles", "2026-01-10T03:00Z", "2026-01-10T04:00"],
  ["midnight", "00:00", "Asia/Kathmandu", "2026-01-10T18:14Z", "2026-01-10T18:15"],
  ["UTC", "23:59", "UTC", "2026-12-31T23:59Z", "2027-01-01T23:59"],
  [
    "the hour that is missing comes an hour later",
    "02:30",
    "Europe/Berlin",
    "2026-03-28T12:00Z",
    "2026-03-29T01:30",
  ],
  [
    "and the day after at its time",
    "02:30",
    "Europe/Berlin",
    "2026-03-29T01:30Z",
    "2026-03-30T00:30",
  ],
  [
    "of the hour that comes twice the first",
    "02:30",
    "Europe/Berlin",
    "2026-10-25T00:00Z",
    "2026-10-25T00:30",
  ],
  ["and not the second", "02:30", "Europe/Berlin", "2026-10-25T00:30Z", "2026-10-26T01:30"],
  [
    "the moment at which clocks jump",
    "02:00",
    "Europe/Berlin",
    "2026-03-28T12:00Z",
    "2026-03-29T01:00",
  ],
  [
    "the moment after they have jumped",
    "03:00",
    "Europe/Berlin",
    "2026-03-28T12:00Z",
    "2026-03-29T01:00",
  ],
  [
    "half an hour that is missing",
    "02:15",
    "Australia/Lord_Howe",
    "2026-10-03T12:00Z",
    "2026-10-03T15:45",
  ],
  [
    "an hour that is missing at midnight",
    "00:30",
    "America/Havana",
    "2026-03-08T00:00Z",
    "2026-03-08T05:30",
  ],
  [
    "also when midnight itself is missing",
    "00:00",
    "America/Havana",
    "2026-03-08T04:59Z",
    "2026-03-08T05:00",
  ],
])("[S180] a time of day: %s", (_case, at, zone, now, expected) => {
  expect(next(at, zone, now)).toBe(expected);
});

test("[S180] it comes once a day, also on days of 23 and of 25 hours", () => {
  const times = { at: "02:30", zone: "America/New_York" };
  let now = Date.parse("2026-01-01T07:30Z");
  for (let day = 0; day < 365; day++) now = nextAt(times, now, "it");
  expect(now).toBe(Date.parse("2027-01-01T07:30Z"));
});

test("[S180] a run sleeps until the clocks of the zone show the time", async () => {
  vi.setSystemTime("2026-03-28T12:00Z");
  const input = { at: "09:15", zone: "America/New_York" };
  // 02:30 in Berlin is missing that night, and 09:15 in New York is the first after it.
  expect(await use.app.run("sleepsLocally", input)).toMatchObject({
    endedAt: Date.parse("2026-03-29T13:15Z"),
  });
});

test.each([
  ["24:00", "UTC", 'is at "24:00": write hours and minutes'],
  ["2:30", "UTC", 'is at "2:30": write hours and minutes'],
  ["02:30", "Europe/Berlim", 'is in the zone "Europe/Berlim": write one such as'],
])("[S180] no time of day: %s, %s", async (at, zone, message) => {
  expect(await use.app.error("sleepsLocally", { at, zone })).toMatchObject({
    kind: "thrown",
    node: "computed",
    message: expect.stringContaining(message),
  });
});
