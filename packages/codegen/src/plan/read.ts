import * as z from "zod";
import { writtenPlan, type WrittenPlan } from "./schema.js";
import { planVersion } from "./version.js";

/** A text that is no plan of this version. */
export class PlanUnreadable extends Error {
  override readonly name = "PlanUnreadable";
}

const anyVersion = z.object({ generatedBy: z.literal("workflow-codegen"), version: z.number() });

/**
 * Reads a `plan.json`.
 *
 * @param of what is read, for messages: `convex/_workflows/plan.json`
 * @throws PlanUnreadable
 */
export function readPlan(text: string, of: string): WrittenPlan {
  const json = parseJson(text, of);
  const head = anyVersion.safeParse(json);
  if (!head.success)
    throw new PlanUnreadable(`${of} is not a plan that workflow-codegen has written`);
  if (head.data.version !== planVersion) {
    throw new PlanUnreadable(
      `${of} is a plan of version ${head.data.version}; this compiler reads version ${planVersion}`,
    );
  }
  const plan = writtenPlan.safeParse(json);
  if (plan.success) return plan.data;
  throw new PlanUnreadable(`${of} was changed by hand:\n${z.prettifyError(plan.error)}`);
}

function parseJson(text: string, of: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    if (/^<{7} /m.test(text))
      throw new PlanUnreadable(`${of} holds both sides of a merge: take either`, { cause });
    throw new PlanUnreadable(`${of} is not JSON`, { cause });
  }
}
