import { diagnostic, type Diagnostic, quote } from "../diagnostics/diagnostic.js";
import { digestOf } from "../plan/digest.js";
import { stagesOf } from "../plan/flow.js";
import type { StagePlan, WorkflowPlan } from "../plan/schema.js";

interface Way {
  readonly stage: StagePlan;
  readonly starts: WorkflowPlan;
}

/**
 * Workflows with a `one` that start each other as children: a run of each may wait for the turn
 * that a run above the other has. One that only starts itself is left out: with the same key, which
 * is why one does it, its runs do not wait.
 */
export function checkTurns(workflows: readonly WorkflowPlan[]): Diagnostic[] {
  const keyed = workflows.filter((workflow) => digestOf(workflow).waitsForTurn);
  if (keyed.length < 2) return [];
  const byName = new Map(workflows.map((workflow) => [workflow.name, workflow]));
  const told = new Set<WorkflowPlan>();
  return keyed.flatMap((first) => {
    if (told.has(first)) return [];
    for (const other of keyed) {
      const there = other === first ? undefined : wayTo(first, other, byName);
      const back = there && wayTo(other, first, byName);
      if (there === undefined || back === undefined) continue;
      told.add(other);
      return [circle(first, other, [...there, ...back])];
    }
    return [];
  });
}

/** The shortest way from a workflow down to another. */
function wayTo(
  from: WorkflowPlan,
  to: WorkflowPlan,
  byName: ReadonlyMap<string, WorkflowPlan>,
): readonly Way[] | undefined {
  const ways = new Map<WorkflowPlan, readonly Way[]>([[from, []]]);
  for (const [workflow, way] of ways)
    for (const next of startsOf(workflow, byName)) {
      const longer = [...way, next];
      if (next.starts === to) return longer;
      if (!ways.has(next.starts)) ways.set(next.starts, longer);
    }
  return undefined;
}

const startsOf = (workflow: WorkflowPlan, byName: ReadonlyMap<string, WorkflowPlan>): Way[] =>
  stagesOf(workflow).flatMap((stage) =>
    (stage.workflows ?? []).flatMap((name) => {
      const starts = byName.get(name);
      return starts === undefined ? [] : [{ stage, starts }];
    }),
  );

function circle(first: WorkflowPlan, other: WorkflowPlan, way: readonly Way[]): Diagnostic {
  const [one, two] = [quote(first.name), quote(other.name)];
  const names = [first, ...way.map(({ starts }) => starts)].map(({ name }) => name);
  const message = `a run of workflow ${one} may wait for one of ${two} that waits for it, for ever: their \`one\` says so, and ${names.join(" → ")}`;
  const hint = `take the \`one\` from one of them, or let a mutation start the other with \`workflow.start\`, which nothing waits for`;
  const related = way.map(({ stage, starts }) => {
    return { message: `starts ${quote(starts.name)}`, place: stage.place };
  });
  return diagnostic("turnsInCircle", first.place, message, hint, ...related);
}
