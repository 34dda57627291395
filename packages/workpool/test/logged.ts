import { beforeEach, vi } from "vitest";

const METHODS = ["debug", "info", "warn", "error"] as const;
type LoggedEvent = Record<string, unknown> & { event: string };

/**
 * Keeps the log of every test of a file quiet, to be read with {@link loggedEvents}. After
 * `virtualTime()`, which restores it.
 */
export function watchLog(): void {
  beforeEach(() => {
    for (const method of METHODS) vi.spyOn(console, method).mockImplementation(() => {});
  });
}

/** The events that were logged as JSON, each with the console's method, in their order. */
export function loggedEvents(event?: string): LoggedEvent[] {
  const lines = METHODS.flatMap((method) => {
    const { calls, invocationCallOrder } = vi.mocked(console[method]).mock;
    return calls.map(([line], i) => ({ method, line, order: invocationCallOrder[i] ?? 0 }));
  });
  lines.sort((a, b) => a.order - b.order);
  const events = lines.flatMap(({ line }) =>
    typeof line === "string" && line.startsWith("{") ? [JSON.parse(line) as LoggedEvent] : [],
  );
  return event === undefined ? events : events.filter((each) => each.event === event);
}
