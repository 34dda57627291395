import type { ListedRun } from "@stepwise/workflow";

/** Says whether a text, in upper or lower case, is in what a list shows of a run. */
export function hasText({ runId, key, childKey, error }: ListedRun, text: string): boolean {
  const wanted = text.toLowerCase();
  return [runId, key, childKey, error?.message].some((each) =>
    each?.toLowerCase().includes(wanted),
  );
}
