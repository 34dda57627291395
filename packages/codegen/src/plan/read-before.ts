import { digestOf, lazyWorkflow, type Digest } from "./digest.js";
import { readPlanFile, type PlanPart } from "./read.js";
import type { WrittenPlan } from "./schema.js";

type WrittenWorkflow = WrittenPlan["workflows"][number];

/** What is remembered from one time to the next, by key. */
export interface ReadBefore {
  get(key: string): unknown;
  set(key: string, value: unknown): void;
}

/** What is remembered of a file of a plan that was found to be one. */
interface KnownPart extends Omit<PlanPart, "workflows"> {
  readonly workflow?: {
    readonly name: string;
    readonly hash: string;
    readonly fields: readonly string[];
    readonly digest: Digest;
  };
}

/** `readPlanFile` of a known text, named by `id`: its workflow is parsed only when it is used. */
export function partOnce(
  before: ReadBefore,
  { path, id, of = path }: { readonly path: string; readonly id: string; readonly of?: string },
  read: () => string,
): PlanPart {
  const key = `part ${path} ${id}`;
  // Nothing else is set under such a key.
  const known = before.get(key) as KnownPart | undefined;
  if (known !== undefined) return { ...known, workflows: workflowsOf(known, read) };
  const text = read();
  const part = readPlanFile(text, path, of);
  const { workflows, ...rest } = part;
  const [workflow] = workflows;
  // Of one with more in it than a plan has, the parsed text would not be what was read.
  if (JSON.stringify(workflow) === JSON.stringify(workflowIn(text))) {
    const { name = "", hash = "" } = workflow ?? {};
    const found = workflow && {
      workflow: { name, hash, fields: Object.keys(workflow), digest: digestOf(workflow) },
    };
    before.set(key, { ...rest, ...found } satisfies KnownPart);
  }
  return part;
}

function workflowsOf({ workflow }: KnownPart, read: () => string): WrittenWorkflow[] {
  if (workflow === undefined) return [];
  const { fields, digest, ...known } = workflow;
  let whole: WrittenWorkflow | undefined;
  // That text was a plan.
  const load = () => (whole ??= workflowIn(read()) as WrittenWorkflow);
  return [lazyWorkflow<WrittenWorkflow>(known, fields, digest, load)];
}

const workflowIn = (text: string): unknown =>
  (JSON.parse(text) as { readonly workflow?: unknown }).workflow;
