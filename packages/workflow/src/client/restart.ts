import type { FunctionArgs } from "convex/server";
import type { ComponentApi } from "../component/_generated/component.js";
import type { WorkflowInput } from "../definition/definition.js";
import { durationMs } from "../rules.js";
import { insideOf, outputsIn } from "../runtime/nodes/kinds.js";
import { placeOf } from "../runtime/place.js";
import type { WorkflowReference } from "../runtime/reference.js";
import type { NodeName } from "./nodes.js";

/** How a run is restarted. */
export interface RestartOptions<Workflow> {
  from?: NodeName<Workflow> | undefined;
  iteration?: number | undefined;
  input?: WorkflowInput<Workflow> | undefined;
}

type Loop = FunctionArgs<ComponentApi["steering"]["restart"]>["loop"];

/** Where a restart from a node begins, if that is a loop. @throws if it is none, but has to be. */
export function loopAt(
  { name: workflow, stored }: WorkflowReference<never>,
  path: string | undefined,
  iteration: number | undefined,
): Loop {
  const { node, called } = placeOf(stored, path ?? "");
  const [body] = node?.kind === "loop" ? insideOf(node) : [];
  if (path === undefined || body === undefined) {
    if (iteration === undefined) return undefined;
    throw new Error(`Restarting "${workflow}": an iteration needs the loop that it is of as from`);
  }
  if (iteration !== undefined && !(Number.isInteger(iteration) && iteration >= 1))
    throw new Error(`Restarting "${workflow}": the iteration is ${iteration}, and not from 1`);
  const [first] = Object.keys(body.nodes);
  const last = outputsIn(body.nodes).at(-1);
  const ms = node.timeout === undefined ? undefined : durationMs(node.timeout);
  return {
    first: placeOf(stored, `${path}.${first}`).first,
    last: last === undefined ? null : `${path}.${last}`,
    deadline:
      ms === undefined
        ? undefined
        : { stage: path, called: called === path ? undefined : called, ms },
    iteration,
  };
}
