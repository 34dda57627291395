import type { ComponentApi } from "../component/_generated/component.js";
import { compiled, type Compiled } from "./compiled.js";

/**
 * What a workflow that was removed leaves behind: its runs, wherever they are, fail with `removedNode`; what they have done is undone.
 * @param workflow its name.
 */
export function removedWorkflow(
  component: ComponentApi,
  workflow: string,
): Omit<Compiled, "query" | "recover" | "reference"> {
  // No schema is asked for what nobody starts.
  return compiled(component, workflow, {
    options: { input: undefined as never },
    nodes: {} as never,
  });
}
