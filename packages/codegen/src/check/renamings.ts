import { diagnostic, quote, type Diagnostic } from "../diagnostics/diagnostic.js";
import { nearest } from "../diagnostics/nearest.js";
import { allNodes } from "../plan/flow.js";
import type { Renaming, WorkflowPlan } from "../plan/schema.js";

/** Names that are none, and nodes that are to stand in others. */
export function checkRenamings(workflow: WorkflowPlan): Diagnostic[] {
  const paths = pathsOf(workflow);
  return workflow.renamings.flatMap((renaming) => checkRenaming(renaming, paths, workflow));
}

function pathsOf({ nodes }: WorkflowPlan): Set<string> {
  const all = allNodes(nodes);
  const bodies = all.flatMap(({ bodies: inside = [] }) => inside);
  return new Set([...all, ...bodies].map(({ path }) => path));
}

function checkRenaming(
  { old, now, place }: Renaming,
  paths: ReadonlySet<string>,
  { name, renamings, hasUnknownNames, hasUnreadNodes }: WorkflowPlan,
): Diagnostic[] {
  const report = (what: string, hint: string) => {
    const message = `\`renamed\` of workflow ${quote(name)} maps ${quote(old)} to ${quote(now)}, which ${what}`;
    return [diagnostic("unusableRenaming", place, message, hint)];
  };
  // The new name may be one that was changed again.
  const there = [...reachable(now, renamings)].filter((path) => paths.has(path));
  if (there.length === 0) {
    if (hasUnknownNames || hasUnreadNodes) return [];
    const near = nearest(now, paths);
    return report(
      "is not there",
      near === undefined
        ? `what is there: ${[...paths].join(", ")}`
        : `did you mean ${quote(near)}?`,
    );
  }
  const around = reachable(parentOf(old), renamings);
  if (there.some((path) => around.has(parentOf(path)))) return [];
  return report(
    "stands elsewhere",
    "a run can follow a node to another name, but not into or out of another node",
  );
}

const parentOf = (path: string): string => path.slice(0, Math.max(0, path.lastIndexOf(".")));

/** A path, and all that it may be called by now: by its own name or that of a node around it. */
function reachable(path: string, renamings: readonly Renaming[]): ReadonlySet<string> {
  const all = new Set([path]);
  for (const each of all)
    for (const { old, now } of renamings)
      if ((each === old || each.startsWith(`${old}.`)) && depthOf(old) === depthOf(now))
        all.add(now + each.slice(old.length));
  return all;
}

const depthOf = (path: string): number => path.split(".").length;
