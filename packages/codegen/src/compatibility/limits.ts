import { quote } from "../diagnostics/diagnostic.js";
import type { WrittenPlan } from "../plan/schema.js";
import { storedAs } from "../plan/workflow-names.js";
import type { Change, WorkflowThen } from "./lines.js";

/** Tells which limits of the config are new, changed or gone: works store their names. */
export function limitChanges(before: WrittenPlan, now: WrittenPlan): Change[] {
  const then = before.config?.limits ?? {};
  const limits = now.config?.limits ?? {};
  const gone = Object.keys(then).filter((name) => !Object.hasOwn(limits, name));
  const about = (name: string, message: string): Change => ({
    workflow: "",
    compatibility: "safe",
    message: `the limit ${quote(name)} is ${message}`,
  });
  return [
    ...gone.map((name) => about(name, "removed or renamed: actions that wait for it begin")),
    ...Object.entries(limits).flatMap(([name, limit]) => {
      const old = Object.hasOwn(then, name) ? then[name] : undefined;
      if (old === undefined) return [about(name, "new: actions that run already do not count")];
      if (JSON.stringify(old) === JSON.stringify(limit)) return [];
      const { maxWaiting } = limit;
      if (JSON.stringify({ ...old, maxWaiting }) === JSON.stringify({ ...limit, maxWaiting }))
        return [about(name, "changed: from now on, starts are refused by its new maxWaiting")];
      if (old.unit !== limit.unit && limit.unit !== undefined)
        return [about(name, `changed: it counts ${limit.unit}, and an action that waits takes 1`)];
      if (old.unit !== limit.unit)
        return [about(name, `changed: it counts starts now, and no ${old.unit}`)];
      return [about(name, "changed: actions that it lets through now begin, and none is ended")];
    }),
    ...now.workflows.flatMap((workflow) => {
      const old = before.workflows.find((each) => storedAs(each) === storedAs(workflow));
      return old === undefined ? [] : ofWorkflow(old, workflow, gone);
    }),
  ];
}

/** An action keeps the keys that it was begun with. @param gone of these nobody waits any more. */
function ofWorkflow(before: WorkflowThen, now: WorkflowThen, gone: readonly string[]): Change[] {
  const [then, limits] = [before.limits ?? {}, now.limits ?? {}];
  const names = new Set([...Object.keys(then), ...Object.keys(limits)]);
  return [...names].flatMap((name): Change[] => {
    if (then[name] === limits[name] || gone.includes(name)) return [];
    const which = name === "*" ? "what it says of limits" : `its limit ${quote(name)}`;
    const message =
      limits[name] === undefined
        ? `${which} is removed: actions that have begun or wait for it count as before, and those that runs come to from now on do not`
        : then[name] === undefined
          ? `${which} is added: it holds for the actions that runs come to from now on`
          : `${which} has ${otherOf(then[name], limits[name])}: actions that have begun or wait keep theirs`;
    return [{ workflow: now.name, compatibility: "safe", message }];
  });
}

/** Returns what differs of what is given for a limit: its key, its estimate or both. */
function otherOf(then: string, now: string): string {
  const [key, estimate] = then.split("=");
  const [newKey, newEstimate] = now.split("=");
  const keys = key === newKey ? [] : ["another key"];
  if (estimate === newEstimate) return keys.join();
  const other =
    newEstimate === undefined
      ? "no estimate any more"
      : estimate === undefined
        ? "an estimate"
        : "another estimate";
  return [...keys, other].join(" and ");
}
