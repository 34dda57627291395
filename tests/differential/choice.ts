import type { Job } from "../edits/deployed.js";
import type { RunRow, StepRow } from "./rest.js";

export function isActing({ kind, state }: StepRow): boolean {
  return kind === "action" && state === "running";
}

/** One of the runs: mostly one that suits, of the top level. */
export function picked(
  runs: readonly RunRow[],
  number: number,
  suits: (run: RunRow) => boolean,
): RunRow | undefined {
  const tops = runs.filter(({ root }) => root === undefined);
  const ways = [tops.filter(suits), tops.filter(suits), runs.filter(suits), tops, runs];
  const way = Math.floor(number * ways.length);
  const among = ways.slice(way).find(({ length }) => length > 0) ?? [];
  return among[Math.floor((number * ways.length - way) * among.length)];
}

/** A run and those under it. */
export function familyOf(id: string, runs: readonly RunRow[]): Set<string> {
  const family = new Set([id]);
  // A run is inserted after the one above it.
  for (const { _id, parentRun } of runs)
    if (parentRun !== undefined && family.has(parentRun)) family.add(_id);
  return family;
}

export function argsOf({ args }: Job): object {
  const [first] = args;
  return typeof first === "object" && first !== null ? first : {};
}
