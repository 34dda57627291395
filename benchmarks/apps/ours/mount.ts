import { register as registerWorkflow } from "@stepwise/workflow/test";
import { register as registerPool } from "@stepwise/workpool/test";

type Test = Parameters<typeof registerWorkflow>[0];

/** Mounts the components, as a `convex.config.ts` would. */
export function mount(t: Test): void {
  registerWorkflow(t);
  registerPool(t);
}
