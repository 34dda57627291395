import type { z } from "zod";
import type { WrittenPlan } from "../plan/schema.js";
import { group, hardline, indent, join, line, print, softline, type Doc } from "./print/doc.js";

type Json = z.core.util.JSONType;

type WrittenWorkflow = WrittenPlan["workflows"][number];

/** The texts of workflows that were laid out before: a watching compiler has most of them again and again. */
const laidOut = new WeakMap<WrittenWorkflow, string>();

/** `plan.json`, laid out so that Prettier leaves it as it is. */
export function planText({ workflows, removed, ...rest }: WrittenPlan): string {
  const head = print(layOut(rest)).replace(/\n\}$/, "");
  const left = removed === undefined ? "" : `,\n  "removed": ${print(indent(layOut(removed)))}`;
  const all = workflows.map(workflowText).join(",");
  return `${head},\n  "workflows": [${all}\n  ]${left}\n}\n`;
}

/** A workflow at the depth that it has in the file. */
function workflowText(workflow: WrittenWorkflow): string {
  const before = laidOut.get(workflow);
  if (before !== undefined) return before;
  const text = print(indent(indent([hardline, layOut(workflow)])));
  laidOut.set(workflow, text);
  return text;
}

function layOut(value: Json | undefined): Doc {
  if (Array.isArray(value)) {
    if (value.length === 0) return "[]";
    return group(["[", indent([softline, join([",", line], value.map(layOut))]), softline, "]"]);
  }
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  const entries = Object.entries(value).filter(([, field]) => field !== undefined);
  if (entries.length === 0) return "{}";
  const properties = entries.map(([key, field]): Doc => [
    `${JSON.stringify(key)}: `,
    layOut(field),
  ]);
  // Prettier keeps an object open when it begins on a new line; so every object does.
  return ["{", indent([hardline, join([",", hardline], properties)]), hardline, "}"];
}
