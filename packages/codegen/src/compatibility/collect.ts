import type { Change, Compatibility, WorkflowThen } from "./lines.js";

type Collect = WorkflowThen["collect"];

/** Returns what becomes of starts and runs if the `collect` of their workflow is another one. */
export function collectChanges({ collect: before }: WorkflowThen, now: WorkflowThen): Change[] {
  const { name: workflow, collect } = now;
  const change = (compatibility: Compatibility, message: string, hint?: string): Change[] => [
    { workflow, compatibility, message, ...(hint && { hint }) },
  ];
  if (before?.hash === collect?.hash) return [];
  const what = before === undefined ? "added" : collect === undefined ? "removed" : "changed";
  const starts = startsThen(before, collect);
  // Whether it is `{ items }`. Of one that is not seen it may be.
  const isOther = shapeOf(before) !== shapeOf(collect) || shapeOf(collect) === "unseen";
  if (!isOther) return change("safe", `the collect is ${what}: ${starts}`);
  const [was, is] = [shapeOf(before), shapeOf(collect)];
  return change(
    "stops",
    `the collect is ${what}: the input of runs is ${is} and was ${was}, and those that have begun keep theirs; ${starts}`,
    "let handlers take both, or have no runs going on when you deploy",
  );
}

function shapeOf(collect: Collect): string {
  if (collect !== undefined && collect.keep === undefined) return "unseen";
  return collect?.keep === "all" ? "`{ items }`" : "that of one start";
}

function startsThen(before: Collect, now: Collect): string {
  if (before === undefined) return "starts from now on are collected";
  if (now === undefined)
    return before.keep === "all"
      ? "what is collected begins when it would have, with a run for each start"
      : "what is collected begins when it would have";
  const keyed =
    before.key === now.key ? "" : "; a key that is made in another way collects by itself";
  return `a run that collects already begins when it would have, and keeps what the new one says${keyed}`;
}
