import type { WrittenPlan } from "../plan/schema.js";

/** JSON, with fields that may be absent. */
type Json = string | number | boolean | null | undefined | readonly Json[] | JsonObject;
interface JsonObject {
  readonly [name: string]: Json;
}

type WrittenWorkflow = WrittenPlan["workflows"][number];
type Removed = NonNullable<WrittenPlan["removed"]>[number];

/** The texts of workflows that were laid out before: a watching compiler has most of them again and again. */
const laidOut = new WeakMap<WrittenWorkflow, string>();

/** `plan.json`: what holds for all workflows. It changes with the config and the compiler only. */
export function appPlanText({ generatedBy, compiler, version, config }: WrittenPlan): string {
  return `${layOut({ generatedBy, compiler, version, config }, "", 0, 0)}\n`;
}

/**
 * The plan of one workflow, laid out so that Prettier leaves it as it is. By itself, as it holds nothing but JSON, and much of that: a list
 * stands on one line where it fits, and an object, which Prettier keeps open when it begins on a new line, never does.
 *
 * @param workflow undefined when it is gone
 */
export function workflowPlanText(
  { generatedBy, version }: WrittenPlan,
  workflow: WrittenWorkflow | undefined,
  removed: Removed | undefined,
): string {
  const parts = [layOut({ generatedBy, version }, "", 0, 0).replace(/\n\}$/, "")];
  if (workflow !== undefined) parts.push(`  "workflow": ${workflowText(workflow)}`);
  if (removed !== undefined) parts.push(`  "removed": ${layOut(removed, "  ", 13, 0)}`);
  return `${parts.join(",\n")}\n}\n`;
}

function workflowText(workflow: WrittenWorkflow): string {
  const before = laidOut.get(workflow);
  if (before !== undefined) return before;
  const text = layOut(workflow, "  ", 14, 1);
  laidOut.set(workflow, text);
  return text;
}

const WIDTH = 80;

/**
 * @param margin what the lines of the value begin with.
 * @param column where it begins itself.
 * @param behind how much follows it on its last line.
 */
function layOut(value: Json, margin: string, column: number, behind: number): string {
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  const inside = `${margin}  `;
  const comma = (at: number, all: readonly unknown[]) => (at + 1 < all.length ? 1 : 0);
  if (Array.isArray(value)) {
    const flat = onOneLine(value);
    if (flat !== undefined && column + flat.length + behind <= WIDTH) return flat;
    const parts = value.map((each, at) => layOut(each, inside, inside.length, comma(at, value)));
    return `[\n${inside}${parts.join(`,\n${inside}`)}\n${margin}]`;
  }
  const fields = Object.entries(value).filter(([, field]) => field !== undefined);
  if (fields.length === 0) return "{}";
  const parts = fields.map(([name, field], at) => {
    const lead = `${JSON.stringify(name)}: `;
    return `${lead}${layOut(field, inside, inside.length + lead.length, comma(at, fields))}`;
  });
  return `{\n${inside}${parts.join(`,\n${inside}`)}\n${margin}}`;
}

/** A value without a line end; undefined where an object in it asks for one. */
function onOneLine(value: Json): string | undefined {
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  if (!Array.isArray(value)) return Object.keys(value).length === 0 ? "{}" : undefined;
  const parts = value.map(onOneLine);
  return parts.includes(undefined) ? undefined : `[${parts.join(", ")}]`;
}
