import { createHash } from "node:crypto";
import {
  planVersion,
  writtenPlan,
  workflow as writtenWorkflow,
  type ProjectPlan,
  type WrittenPlan,
} from "./schema.js";

/** The plan as it is committed: without places, with a hash for every workflow. */
export function toWritten(plan: ProjectPlan): WrittenPlan {
  const workflows = plan.workflows.map((placed) => {
    const workflow = writtenWorkflow.parse(placed);
    return { ...workflow, hash: hashOf(JSON.stringify(workflow)) };
  });
  return writtenPlan.parse({ generatedBy: "workflow-codegen", version: planVersion, workflows });
}

/** Short enough to read in a diff, long enough never to meet by chance. */
export function hashOf(text: string): string {
  return createHash("sha256").update(text).digest("hex").slice(0, 16);
}
