/* What the compiler writes to this folder, in the scratch copy of the app, as far as `runs.ts` needs it. */
import type { WorkflowManager } from "@stepwise/workflow";
import type { WorkflowReference } from "@stepwise/workflow/runtime";

export declare const workflow: WorkflowManager;
export declare const workflows: Readonly<
  Record<string, WorkflowReference<{ n: number; ms: number }>>
>;
