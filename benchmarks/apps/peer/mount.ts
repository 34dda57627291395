import { register as registerWorkflow } from "@convex-dev/workflow/test";
import { register as registerPool } from "@convex-dev/workpool/test";

type Test = Parameters<typeof registerWorkflow>[0];

/** Mounts the components, as a `convex.config.ts` would. */
export function mount(t: Test): void {
  registerWorkflow(t, "workflow");
  registerPool(t, "workpool");
}
