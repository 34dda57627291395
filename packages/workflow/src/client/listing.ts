import type { FunctionArgs, FunctionReturnType, PaginationOptions } from "convex/server";
import type { ComponentApi } from "../component/_generated/component.js";
import type { StepError } from "../definition/step-error.js";
import type { WorkflowReference } from "../runtime/reference.js";
import type { QueryRunner } from "./context.js";
import { nodeNamed, stagesAt, type NodePath } from "./nodes.js";
import type { RunState } from "./status.js";

/** Which page, as `usePaginatedQuery` asks for it; of what Convex's `paginationOptsValidator` lets through, the rest has no effect. */
export type PageOptions = Pick<PaginationOptions, "numItems" | "cursor"> & {
  endCursor?: string | null;
};

export interface Page<Row> {
  page: Row[];
  isDone: boolean;
  continueCursor: string;
}

/** Which runs to list. Without anything: all of the top level. */
export interface ListFilter<Workflow> {
  /** Only runs of this workflow. */
  workflow?: Workflow;
  state?: RunState;
  /** Only runs that are at this node. Of the given `workflow`. */
  node?: NodePath<Workflow>;
  /** Only runs that started under another plan than that which the given `workflow` has now. */
  outdated?: boolean;
  /** Only the children of this run, in the order in which they were given. Not together with `node`. */
  parent?: string;
  /** Children too, whosever they are. Default: runs of the top level only. */
  children?: boolean;
}

/** A run in a list. */
export interface ListedRun {
  runId: string;
  workflow: string;
  state: RunState;
  /** The key that it was started with. */
  key?: string;
  /** The hash of the workflow's plan that it started under. */
  plan?: string;
  /** How often it was restarted, plus one. */
  generation: number;
  /** Of a child: the run whose child it is, its place among its siblings, and its key where they were given as a record. */
  parentRunId?: string;
  index?: number;
  childKey?: string;
  /** In ms since the epoch. */
  startedAt: number;
  endedAt?: number;
  /** It was paused itself. One that stands still because a run above it was paused is told by `status`, not here. */
  paused: boolean;
  error?: StepError;
}

/** @throws where the filter asks for what does not go together, or for a node that the workflow does not have. */
export async function listRuns<Workflow extends WorkflowReference<never>>(
  component: ComponentApi,
  ctx: QueryRunner,
  filter: ListFilter<Workflow>,
  page: PageOptions,
): Promise<Page<ListedRun>> {
  const { workflow, state, node, outdated, parent, children } = filter;
  if (workflow === undefined && (node !== undefined || outdated !== undefined))
    throw new Error(`Listing runs by node, or outdated ones, needs a workflow: give that too`);
  const some = {
    ...(workflow === undefined ? {} : { workflow: workflow.name }),
    ...(state === undefined ? {} : { state }),
    ...(outdated === true && workflow !== undefined ? { notOfPlan: workflow.plan } : {}),
    ...(children === undefined ? {} : { children }),
    page: pageOf(page),
  };
  if (parent !== undefined) {
    if (node !== undefined) throw new Error(`Runs are listed by node or by parent, not by both`);
    return rowsOf(await ctx.runQuery(component.listing.children, { ...some, parent }));
  }
  if (node !== undefined && workflow !== undefined) {
    const stages = stagesAt(workflow.stored, nodeNamed(workflow, node, { onTop: false }));
    return rowsOf(await ctx.runQuery(component.listing.atStages, { ...some, stages }));
  }
  return rowsOf(await ctx.runQuery(component.listing.runs, some));
}

/** What the component is told of a page. */
export function pageOf({
  numItems,
  cursor,
  endCursor,
}: PageOptions): FunctionArgs<ComponentApi["listing"]["runs"]>["page"] {
  return { numItems, cursor, ...(endCursor === undefined ? {} : { endCursor }) };
}

function rowsOf(found: FunctionReturnType<ComponentApi["listing"]["runs"]>): Page<ListedRun> {
  return found;
}
