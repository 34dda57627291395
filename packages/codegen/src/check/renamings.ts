import { diagnostic, type Diagnostic } from "../diagnostics/diagnostic.js";
import { nearest } from "../diagnostics/nearest.js";
import { allNodes } from "../plan/flow.js";
import { renamedTo } from "../plan/renaming.js";
import type { ProjectPlan, Renaming, WorkflowPlan } from "../plan/schema.js";

/** Former names that are still names, and names that are none. */
export function checkRenamings({ workflows }: ProjectPlan): Diagnostic[] {
  return workflows.flatMap((workflow) => {
    const paths = pathsOf(workflow);
    const renamed = Object.fromEntries(workflow.renamings.map(({ old, now }) => [old, now]));
    return workflow.renamings.flatMap((renaming) => {
      // The new name may be one that was changed again.
      const now = renamedTo(renaming.old, renamed) ?? renaming.now;
      const isLed = now !== renaming.now && paths.has(now);
      return checkRenaming(isLed ? { ...renaming, now } : renaming, paths, workflow);
    });
  });
}

/** The paths of nodes, and of the cases around them. */
function pathsOf({ nodes }: WorkflowPlan): Set<string> {
  const all = allNodes(nodes);
  const bodies = all.flatMap(({ bodies: inside = [] }) => inside);
  return new Set([...all, ...bodies].map(({ path }) => path));
}

function checkRenaming(
  { old, now, place }: Renaming,
  paths: ReadonlySet<string>,
  { name, hasUnknownNames, hasUnreadNodes }: WorkflowPlan,
): Diagnostic[] {
  const report = (what: string, hint: string) => [
    diagnostic(
      "unusableRenaming",
      place,
      `\`renamed\` of workflow ${JSON.stringify(name)} ${what}`,
      {
        hint,
      },
    ),
  ];
  const [was, is] = [JSON.stringify(old), JSON.stringify(now)];
  if (paths.has(old)) {
    return report(
      `says that ${was} was renamed, but that is still there`,
      "keep the former name for the one node, or remove this line",
    );
  }
  if (!paths.has(now)) {
    if (hasUnknownNames || hasUnreadNodes) return [];
    const near = nearest(now, paths);
    return report(
      `maps ${was} to ${is}, which is not there`,
      near === undefined
        ? `what is there: ${[...paths].join(", ")}`
        : `did you mean ${JSON.stringify(near)}?`,
    );
  }
  // The passes of a loop are counted by the loops around a node.
  if (old.split(".").length === now.split(".").length) return [];
  return report(
    `maps ${was} to ${is}, which stands elsewhere`,
    "a run can follow a node to another name, but not into or out of another node",
  );
}
