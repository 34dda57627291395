import type { PlanGraph } from "@stepwise/workflow/react";

/** The compiled workflows, as `workflow-codegen studio` gives them. */
export interface Plans extends PlanGraph {
  readonly workflows: readonly (PlanGraph["workflows"][number] & { readonly file: string })[];
  readonly costs: readonly Cost[];
  readonly changes: readonly {
    readonly workflow: string;
    readonly node?: string;
    readonly compatibility: string;
    readonly message: string;
    readonly hint?: string;
  }[];
}

/** What a run costs, by `explain`. */
export interface Cost {
  readonly name: string;
  readonly rootExecutions: number;
  readonly isAtMost: boolean;
}
