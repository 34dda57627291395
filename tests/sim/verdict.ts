import type { Fault } from "../differential/definition.js";
import { editOf } from "./deploys.js";
import type { Stage } from "./stage.js";

/**
 * What `check` says of an edit is true of the runs that were in flight: who stops stops where it
 * says so, and nothing else becomes of anybody.
 */
export function checkVerdict(stage: Stage): void {
  const { app, scenario, problems } = stage;
  if (!stage.isDeployed || stage.isBack || app.later === undefined) return;
  const stops = app.later.changes.filter(
    ({ compatibility, message }) => /^(stops|rename)$/.test(compatibility) || PAUSED.test(message),
  );
  for (const { _id, error } of stage.runs()) {
    const fault = error as Fault | undefined;
    const isUnfit = (stage.hasFaults ? REMOVED : UNFIT).test(fault?.kind ?? "");
    if (fault === undefined || !isUnfit) continue;
    const isSaid = stops.some(
      ({ workflow, node, message }) =>
        workflow === fault.workflow &&
        (node === undefined ||
          fault.node === node ||
          fault.node.startsWith(`${node}.`) ||
          (node.startsWith(`${fault.node}.`) && message.includes(comesTo(fault)))),
    );
    const edit = editOf(scenario.edit ?? 0);
    if (!isSaid)
      problems.push(`${edit}: ${_id} stops, which check does not say: ${JSON.stringify(fault)}`);
  }
}

/** What is said of who comes to a case that is gone, by the key that it has. */
function comesTo({ message = "" }: Fault): string {
  const [, key = "nothing"] = / has no case (".+?");/.exec(message) ?? [];
  return `come to it with ${key}`;
}

/** Only who is just there or paused there stops. */
const PAUSED = /paused there(?:, which)? stops/;

/** Kinds of errors that nothing in the family of edits gives but an edit. */
const UNFIT = /^(removedNode|thrown|maxIterations|invalidOutput|invalidInput)$/;
/** The same where functions are made to fail. */
const REMOVED = /^removedNode$/;
