import type { z } from "zod";
import type { WrittenPlan } from "../plan/schema.js";

type Json = z.core.util.JSONType;

type WrittenWorkflow = WrittenPlan["workflows"][number];

/** The texts of workflows that were laid out before: a watching compiler has most of them again and again. */
const laidOut = new WeakMap<WrittenWorkflow, string>();

/**
 * `plan.json`, laid out so that Prettier leaves it as it is. By itself, as it holds nothing but JSON, and much of that: a list stands on one
 * line where it fits, and an object, which Prettier keeps open when it begins on a new line, never does.
 */
export function planText({ workflows, removed, former, ...rest }: WrittenPlan): string {
  const head = layOut(rest, "", 0, 0).replace(/\n\}$/, "");
  const left = removed === undefined ? "" : `,\n  "removed": ${layOut(removed, "  ", 13, 0)}`;
  const stood = former === undefined ? "" : `,\n  "former": ${layOut(former, "  ", 12, 0)}`;
  const all = workflows.map(workflowText).join(",");
  return `${head},\n  "workflows": [${all}\n  ]${left}${stood}\n}\n`;
}

/** A workflow at the depth that it has in the file. */
function workflowText(workflow: WrittenWorkflow): string {
  const before = laidOut.get(workflow);
  if (before !== undefined) return before;
  const text = `\n    ${layOut(workflow, "    ", 4, 1)}`;
  laidOut.set(workflow, text);
  return text;
}

const WIDTH = 80;

/**
 * @param margin what the lines of the value begin with.
 * @param column where it begins itself.
 * @param behind how much follows it on its last line.
 */
function layOut(value: Json | undefined, margin: string, column: number, behind: number): string {
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
