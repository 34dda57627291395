import * as z from "zod";
import { appPlan, workflowPlanFile } from "./schema.js";
import { planVersion } from "./constants.js";
import { storedAs } from "./workflow-names.js";
import { type PlanPart, PlanOutdated, PlanUnreadable } from "./parts.js";

const anyVersion = z.object({ generatedBy: z.literal("workflow-codegen"), version: z.number() });

/** Reads one file of a plan, whose path names its workflow. @throws PlanUnreadable, about `of` */
export function readPlanFile(text: string, path: string, of = path): PlanPart {
  const name = /(\w+)\.plan\.json$/.exec(path)?.[1];
  if (name === undefined) return { ...parsed(text, of, appPlan), workflows: [] };
  const { workflow, removed } = parsed(text, of, workflowPlanFile);
  const names = [workflow && storedAs(workflow), removed?.workflow].filter(
    (each) => each !== undefined,
  );
  if (names.length === 0 || names.some((each) => each !== name))
    throw new PlanUnreadable(`${of} is not the plan of the workflow ${JSON.stringify(name)}`);
  return { workflows: workflow ? [workflow] : [], removed: removed ? [removed] : [] };
}

/** A plan may come from anywhere: it is bounded before the recursive schema reads it. */
function parsed<T>(text: string, of: string, schema: z.ZodType<T>): T {
  const json = parseJson(text, of);
  const problem = boundsProblem(json);
  if (problem !== undefined) throw new PlanUnreadable(`${of} is not a plan: ${problem}`);
  const head = anyVersion.safeParse(json);
  if (!head.success)
    throw new PlanUnreadable(`${of} is not a plan that workflow-codegen has written`);
  const { version } = head.data;
  if (version !== planVersion) {
    const message = `${of} is a plan of version ${version}; this compiler reads version ${planVersion}`;
    if (version < planVersion) throw new PlanOutdated(message);
    throw Object.assign(new PlanUnreadable(message), { isNewer: true });
  }
  const plan = schema.safeParse(json);
  if (plan.success) return plan.data;
  const [{ message, path } = { message: "it is no plan", path: [] }] = plan.error.issues;
  const place = path.length === 0 ? "" : ` at ${path.join(".")}`;
  throw new PlanUnreadable(`${of} was changed by hand: ${message}${place}`);
}

function parseJson(text: string, of: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new PlanUnreadable(`${of} is not JSON`, { cause });
  }
}

/** A workflow of thousands of nodes, or hundreds of nested branches, stays far below these. */
const maxDepth = 4_000;
const maxValues = 2_000_000;
const maxItems = 100_000;
const maxText = 1_000_000;

/** Names that mean something on every object. */
const unsafeKeys = new Set(["__proto__", "constructor", "prototype"]);

/**
 * Returns why a parsed JSON value must not be read further; undefined if it may. Without recursion.
 */
function boundsProblem(json: unknown): string | undefined {
  const open: { value: unknown; depth: number }[] = [{ value: json, depth: 0 }];
  let seen = 0;
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const { value, depth } = next;
    if (++seen > maxValues) return `it holds more than ${maxValues} values`;
    if (typeof value === "string" && value.length > maxText)
      return `it holds a text of ${value.length} characters`;
    if (typeof value !== "object" || value === null) continue;
    if (depth >= maxDepth) return `it is nested more than ${maxDepth} deep`;
    const fields = Object.entries(value);
    if (fields.length > maxItems) return `it holds a list of ${fields.length} items`;
    for (const [key, each] of fields) {
      if (unsafeKeys.has(key)) return `it holds a field ${JSON.stringify(key)}`;
      open.push({ value: each, depth: depth + 1 });
    }
  }
  return undefined;
}
