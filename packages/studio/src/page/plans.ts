import type { PlanGraph } from "@stepwise/workflow/react";

/** The compiled workflows, as `workflow-codegen studio` gives them. */
export interface Plans extends PlanGraph {
  readonly workflows: readonly (PlanGraph["workflows"][number] & { readonly file: string })[];
  /** The hash of each workflow's plan, by its name. */
  readonly hashes: Readonly<Record<string, string>>;
  /** The same of the plans that they are compared with. */
  readonly comparedHashes: Readonly<Record<string, string>>;
  readonly costs: readonly Cost[];
  /** What the changes are compared with. */
  readonly against: { readonly from: string; readonly hint?: string };
  readonly changes: readonly {
    readonly workflow: string;
    readonly node?: string;
    readonly compatibility: string;
    readonly message: string;
    readonly hint?: string;
  }[];
}

/** What a run costs, by `explain`. */
export interface Cost extends Bound {
  readonly name: string;
  readonly isAtMost: boolean;
  readonly perChild: readonly {
    readonly node: string;
    readonly workflow?: string;
    readonly rootExecutions?: number;
  }[];
  readonly nodes: readonly NodeCost[];
}

interface Bound {
  readonly rootExecutions: number;
  readonly transactions: number;
  /** Null if it has no limit. */
  readonly worstCaseMs: number | null;
}

export interface NodeCost {
  readonly name: string;
  readonly kind: string;
  readonly stages: readonly (Bound & {
    readonly name: string;
    readonly kind: string;
    readonly reads: readonly string[];
    /** Null if it is computed. */
    readonly attempts?: number | null;
  })[];
  readonly bodies?: readonly { readonly nodes: readonly NodeCost[] }[];
}
