import type { TimelineRun, TimelineStep } from "./functions.js";

/** A run's record, and the runs that began at it. */
export interface TimelineNode extends TimelineStep {
  readonly children: readonly TimelineTree[];
}

export interface TimelineTree extends TimelineRun {
  readonly steps: readonly TimelineNode[];
}

/** The lines of a run: one for each record, in their order; below that of a parent those of its children, further in. */
export function linesOf({ steps }: TimelineTree): string[] {
  return steps.flatMap((step) => [
    `${step.stage}${passOf(step)} ${step.state}${attemptsOf(step)}`,
    ...childLines(step).map((line) => `  ${line}`),
  ]);
}

function passOf({ pass }: TimelineStep): string {
  return pass === undefined ? "" : ` #${pass.join(".")}`;
}

function attemptsOf({ attempt }: TimelineStep): string {
  return attempt === 1 ? "" : `, ${attempt} attempts`;
}

/** Neighbours that went alike are told together. */
function childLines({ children, single }: TimelineNode): string[] {
  const groups: { first: TimelineTree; last: TimelineTree; lines: string[] }[] = [];
  for (const child of children) {
    const lines = [
      `${child.workflow} ${child.state}`,
      ...linesOf(child).map((line) => `  ${line}`),
    ];
    const group = groups.at(-1);
    if (group !== undefined && String(group.lines) === String(lines)) group.last = child;
    else groups.push({ first: child, last: child, lines });
  }
  return groups.flatMap(({ first, last, lines: [head = "", ...rest] }) => {
    const which = first === last ? nameOf(first) : `${nameOf(first)}..${nameOf(last)}`;
    return [single ? head : `[${which}] ${head}`, ...rest];
  });
}

function nameOf({ key, index }: TimelineRun): string {
  return key ?? String(index);
}
