import {
  among,
  ANY,
  checkAllGiven,
  FLAG,
  isPlain,
  isText,
  type Kinds,
  misshapeOf,
  type QueryRunner,
  TEXT,
  TIME,
} from "@stepwise/workpool/core";
import type { ComponentApi } from "../component/_generated/component.js";
import { DOING, RUN_STATES } from "../component/validators.js";
import type { AnyTags, StepError, TagValue } from "../definition/context.js";
import type { DeclaredTags } from "../definition/definition.js";
import type { WorkflowReference } from "../runtime/reference.js";
import { nodeNamed, type NodePath, stagesAt } from "./nodes.js";
import { type Page, type PageOptions, pageOf } from "./paging.js";
import type { Collecting, Doing, RunFacts, RunState, Waiting } from "./status.js";
import { checkCompiled } from "./which-run.js";

/** Which runs to list. Default: all of the top level. */
export interface ListFilter<Workflow> {
  /** Only runs of this workflow. */
  workflow?: Workflow;
  state?: RunState;
  /** Only runs that are at this node of the given `workflow`. */
  node?: NodePath<Workflow>;
  /** Only runs that started under another plan than the given `workflow` has now. */
  outdated?: boolean;
  /** Only runs created at or after `since`, and before `until`, in ms since the epoch. */
  since?: number;
  until?: number;
  /** Only runs with this text in their key, id or error, in upper or lower case. */
  text?: string;
  /** Only runs of the given `workflow` whose key begins with this, in the order of their keys. */
  key?: string;
  /**
   * Only the children of this run, or of the entry of its timeline with this `id`, in the given
   * order. Not together with `node`.
   */
  parent?: string;
  /**
   * Only runs that do this now, or have a child that does. Those that began it last come first. A
   * run that does it in several places may appear on several pages. Not together with `node`,
   * `parent` or `key`.
   */
  doing?: Doing;
  /** Only runs of the top level with this tag. Not together with `node`, `parent` or `key`. */
  tag?: Partial<TagsOf<Workflow>>;
  /** Says whether to list children too. Default: runs of the top level only. */
  children?: boolean;
  /**
   * Says whether to return where each unfinished run is. That reads its step record, and some of
   * its children's. Default: only with `doing`.
   */
  places?: boolean;
}

/** A workflow's tags by name; any, if it is not given, or declares none. */
type TagsOf<Workflow> = Workflow extends { readonly "~definition": infer D }
  ? DeclaredTags<D>
  : AnyTags;

/** A run in a list. */
export interface ListedRun extends RunFacts {
  state: RunState;
  /** A child's place among its siblings, and its key if they are a record. */
  index?: number;
  childKey?: string;
  /** In ms since the epoch. */
  endedAt?: number;
  /** Says whether this run was paused. `status` also tells whether a run above it was. */
  paused: boolean;
  error?: StepError;
  tags?: Record<string, TagValue>;
  /** With `places` or `doing`: for whom a run waits with its turn. */
  waitsFor?: Waiting;
  /** With `places` or `doing`: what a run has collected that begins when no more starts come. */
  collecting?: Collecting;
  /** The beginning of the input as JSON, if that is small and the run has no key and no tags. */
  input?: string;
  /**
   * Where a run is that goes on, with `places` or `doing`: its path from the run down, such as
   * `reviews/2/approve` in child 2 of `reviews`. A name with a dot or a slash is in quotes. It also
   * says what the run does there, since when, and until when it waits, in ms since the epoch. A run
   * that does several things at once is shown at one of them, among the first of its children.
   * Stalled comes first, then running, queued, to be tried again, waiting for an event, and
   * sleeping.
   */
  at?: { path: string; doing: Doing; since: number; dueAt?: number };
}

const isTag = (value: unknown): value is TagValue =>
  isText(value) || typeof value === "boolean" || Number.isFinite(value);

const FILTER: Kinds = {
  // It is checked as those of other calls are.
  workflow: ANY,
  state: among(...RUN_STATES),
  node: TEXT,
  outdated: FLAG,
  since: TIME,
  until: TIME,
  text: TEXT,
  key: TEXT,
  parent: TEXT,
  doing: among(...DOING),
  tag: {
    what: `one tag, such as { org: "acme" }`,
    is: (tag) =>
      isPlain(tag) &&
      // A name that Convex drops would leave a filter for all runs.
      misshapeOf(tag, "tag", 1) === undefined &&
      Object.values(tag)
        .filter((each) => each !== undefined)
        .every(isTag),
  },
  children: FLAG,
  places: FLAG,
};

/** A filter as the component takes it. @throws as {@link listRuns}. */
export function whereOf<Workflow extends WorkflowReference<never>>(
  subject: string,
  filter: ListFilter<Workflow>,
) {
  checkAllGiven(subject, filter, FILTER, "the filter");
  const { places: _places, workflow, outdated, node, ...others } = filter;
  const { parent, key, doing, tag } = others;
  if (workflow !== undefined) checkCompiled(workflow);
  if (workflow === undefined && [node, outdated, key].some((each) => each !== undefined))
    throw new Error(
      `Listing runs by node or key, or outdated ones, needs a workflow: give that too`,
    );
  if ([node, parent, key, doing, tag].filter((each) => each !== undefined).length > 1)
    throw new Error(
      `Runs are listed by node, parent, key, tag or what they do, not by two of them`,
    );
  const tags = Object.entries<TagValue | undefined>(tag ?? {}).flatMap(
    ([name, value]): [string, TagValue][] => (value === undefined ? [] : [[name, value]]),
  );
  if (tag !== undefined && tags.length !== 1)
    throw new Error(`Listing runs by tag needs one tag, such as { org: "acme" }`);
  return {
    ...others,
    tag: tag && Object.fromEntries(tags),
    workflow: workflow?.storedAs,
    notOfPlan: outdated ? workflow?.plan : undefined,
    stages:
      node === undefined || workflow === undefined
        ? undefined
        : stagesAt(workflow.stored, nodeNamed(workflow, node, { onTop: false })),
  };
}

/** @throws if the filters do not go together, or the workflow has no such node. */
export async function listRuns<Workflow extends WorkflowReference<never>>(
  component: ComponentApi,
  ctx: QueryRunner,
  filter: ListFilter<Workflow>,
  page: PageOptions,
): Promise<Page<ListedRun> & { read: number }> {
  const where = whereOf("Listing runs", filter);
  const args = { ...where, places: filter.places, page: pageOf("Listing runs", page) };
  return await ctx.runQuery(component.listing.runs, args);
}
