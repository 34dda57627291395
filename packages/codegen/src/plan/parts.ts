import { planVersion } from "./constants.js";
import { type Digest, digestOf, lazyWorkflow } from "./digest.js";
import { planHash, WRITTEN_FIELDS } from "./write.js";
import type { z } from "zod";
import type { appPlan, WorkflowPlan, WrittenPlan, workflowPlanFile } from "./schema.js";

/* A plan by its files. Reading one that somebody may have changed is in `read.ts`. */

export class PlanUnreadable extends Error {
  override readonly name = "PlanUnreadable";

  /** Says whether a newer compiler has written it. */
  isNewer = false;
}

/** A plan that an earlier version of the compiler has written. */
export class PlanOutdated extends PlanUnreadable {}

/** What one file of a plan holds: what the app says for all workflows, or one workflow. */
export type PlanPart = Pick<WrittenPlan, "config" | "workflows" | "removed">;

export const joinedPlan = (parts: readonly PlanPart[]): WrittenPlan => ({
  generatedBy: "workflow-codegen",
  version: planVersion,
  config: parts.find(({ config }) => config !== undefined)?.config,
  workflows: parts.flatMap(({ workflows }) => workflows),
  removed: parts.flatMap(({ removed = [] }) => removed),
});

/** What is remembered from one time to the next, by key. */
export interface ReadBefore {
  /** Returns what was remembered; kept for next time only if asked for or set. */
  get(key: string): unknown;
  set(key: string, value: unknown): void;
}

/** What a compiler has written under a path: its text by a hash, and what it was made of. */
export interface EmittedFile {
  readonly origin: string;
  readonly hash: string;
  /** What the file system said of the file when it was seen to hold this. */
  readonly stamp?: string;
  /** What there is to know of the workflow whose plan it is, if the file holds nothing else. */
  readonly plan?: PlanSummary;
}

/** What is asked of the last plan of every workflow, also of those that have not changed. */
export interface PlanSummary {
  readonly name: string;
  readonly storage?: string | undefined;
  readonly hash: string;
  readonly digest: Digest;
}

export function summaryOf(workflow: WorkflowPlan): PlanSummary {
  const { name, storage } = workflow;
  return { name, storage, hash: planHash(workflow), digest: digestOf(workflow) };
}

/** The part of a file that holds the plan of one workflow. @param read gives its text. */
export function summarizedPart(summary: PlanSummary, read: () => string): PlanPart {
  const { name, storage, hash, digest } = summary;
  let whole: PlanPart | undefined;
  const load = () => (whole ??= ownPart(read())).workflows[0]!;
  const workflow = lazyWorkflow({ name, storage, hash }, WRITTEN_FIELDS, digest, load);
  return { workflows: [workflow], removed: [] };
}

export const emittedKey = (path: string): string => `emitted ${path}`;

/** `readPlanFile` of a text that is named by `id`, which is read and checked only once. */
export async function partOnce(
  before: ReadBefore,
  { path, id, of = path }: { readonly path: string; readonly id: string; readonly of?: string },
  read: () => string,
): Promise<PlanPart> {
  const key = `part ${path} ${id}`;
  // Nothing else is set under such keys.
  const emitted = before.get(emittedKey(path)) as EmittedFile | undefined;
  // To read what this compiler has written takes as long as to read what is remembered of it.
  if (emitted?.hash === id) return ownPart(read());
  const known = before.get(key) as PlanPart | undefined;
  if (known !== undefined) return known;
  const part = await readPart(read(), path, of);
  before.set(key, part);
  return part;
}

/** Reads a plan with zod, which takes longer to load than a plan of this compiler takes to read. */
const readPart = async (text: string, path: string, of: string): Promise<PlanPart> =>
  (await import("./read.js")).readPlanFile(text, path, of);

/** The same as `readPlanFile` finds. */
function ownPart(text: string): PlanPart {
  const { config, workflow, removed } = JSON.parse(text) as OwnPart;
  const listed = <Item>(item: Item | undefined) => (item === undefined ? [] : [item]);
  return { config, workflows: listed(workflow), removed: listed(removed) };
}

type OwnPart = z.infer<typeof workflowPlanFile> & Pick<z.infer<typeof appPlan>, "config">;
