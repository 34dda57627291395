import { type Stats, statSync } from "node:fs";

/**
 * What the file system says of a file, which is another as soon as its content is: the time of its
 * last change cannot be set. Undefined if there is no such file.
 */
export const stampOf = (
  path: string,
  stats: Stats | undefined = statSync(path, { throwIfNoEntry: false }),
): string | undefined =>
  stats?.isFile() === true
    ? `${stats.ctimeMs} ${stats.mtimeMs} ${stats.size} ${stats.ino}`
    : undefined;

/** Clocks of file systems count in steps of up to two seconds, and differ a little from ours. */
const settledMs = 4_000;

/**
 * The same, unless the file has changed since this process began, or just before: then it may have
 * changed after it was read, or may change again without another time.
 */
export function settledStamp(path: string, stats?: Stats): string | undefined {
  const stamp = stampOf(path, stats);
  const changedAt = Number.parseFloat(stamp ?? "");
  return changedAt < performance.timeOrigin - settledMs ? stamp : undefined;
}
