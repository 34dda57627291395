/** The most jobs that ever ran at the same time, by their "start" and "end" events. */
export function mostAtOnce(events: readonly { what: string }[]): number {
  let running = 0;
  let most = 0;
  for (const { what } of events) {
    if (what === "start") most = Math.max(most, (running += 1));
    if (what === "end") running -= 1;
  }
  return most;
}
