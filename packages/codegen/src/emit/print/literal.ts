import type { z } from "zod";
import { array, object, property, string } from "./code.js";
import type { Doc } from "./doc.js";

/** A value as it is written in a program. */
export function literal(value: z.core.util.JSONType): Doc {
  if (typeof value === "string") return string(value);
  if (Array.isArray(value)) return array(value.map(literal));
  if (typeof value !== "object" || value === null) return String(value);
  return object(Object.entries(value).map(([key, field]) => property(key, literal(field))));
}
