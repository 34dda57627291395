import type { ComponentApi } from "../component/_generated/component.js";
import { compiled, type Compiled, type Defaults } from "./compiled.js";

/**
 * What a workflow that was removed leaves behind: its runs, wherever they are, fail with `removedNode`; what they have done is undone.
 * @param workflow its name.
 * @param defaults where its functions are.
 */
export function removedWorkflow(
  component: ComponentApi,
  workflow: string,
  defaults?: Pick<Defaults, "folder">,
): Omit<Compiled, "query" | "recover" | "reference"> {
  // No schema is asked for what nobody starts.
  const definition = { options: { input: undefined as never }, nodes: {} as never };
  return compiled(component, workflow, definition, defaults);
}
