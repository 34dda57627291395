import type { z } from "zod";
import type { WrittenPlan } from "../plan/schema.js";
import { group, hardline, indent, join, line, print, softline, type Doc } from "./print/doc.js";

type Json = z.core.util.JSONType;

/** `plan.json`, laid out so that Prettier leaves it as it is. */
export function planText(plan: WrittenPlan): string {
  return print([layOut(plan), hardline]);
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
