import type { WorkflowInput } from "../definition/definition.js";
import type { NodeName } from "./nodes.js";

/** How a run is restarted. */
export interface RestartOptions<Workflow> {
  from?: NodeName<Workflow> | undefined;
  iteration?: number | undefined;
  input?: WorkflowInput<Workflow> | undefined;
}
