import { createHash } from "node:crypto";
import { compilerVersion } from "../version.js";
import {
  planVersion,
  workflow as writtenWorkflow,
  type ProjectPlan,
  type WorkflowPlan,
  type WrittenPlan,
} from "./schema.js";

type WrittenWorkflow = WrittenPlan["workflows"][number];

/** Those that were written before: a watching compiler has most of them again and again. */
const writtenBefore = new WeakMap<WorkflowPlan, WrittenWorkflow>();

/** The plan as it is committed: without places, with a hash for every workflow. */
export function toWritten({ workflows, removed = [] }: ProjectPlan): WrittenPlan {
  return {
    generatedBy: "workflow-codegen",
    compiler: compilerVersion(),
    version: planVersion,
    workflows: workflows.map(writtenWorkflowOf),
    ...(removed.length === 0 ? {} : { removed: [...removed] }),
  };
}

function writtenWorkflowOf(placed: WorkflowPlan): WrittenWorkflow {
  const before = writtenBefore.get(placed);
  if (before !== undefined) return before;
  const workflow = writtenWorkflow.parse(placed);
  const written = { ...workflow, hash: hashOf(JSON.stringify(workflow)) };
  writtenBefore.set(placed, written);
  return written;
}

/** The hash of a workflow's plan, under which its runs are started. */
export const planHash = (workflow: WorkflowPlan): string => writtenWorkflowOf(workflow).hash;

/** Short enough to read in a diff, long enough never to meet by chance. */
export function hashOf(text: string): string {
  return createHash("sha256").update(text).digest("hex").slice(0, 16);
}
