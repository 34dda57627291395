import { CommitTsPlaceholder } from "convex/values";
import type { Document } from "../indexed/order.js";

/** [6] A document with the timestamp of its commit where it asks for that. */
export function resolved(document: Document | undefined, ts: bigint): Document | undefined {
  if (document === undefined || !hasPlaceholder(document)) return document;
  return filled(document, ts) as Document;
}

function filled(value: unknown, ts: bigint): unknown {
  if (value instanceof CommitTsPlaceholder) return ts;
  if (!hasPlaceholder(value)) return value;
  if (Array.isArray(value)) return value.map((element) => filled(element, ts));
  const fields = Object.entries(value as object);
  return Object.fromEntries(fields.map(([key, field]) => [key, filled(field, ts)]));
}

function hasPlaceholder(value: unknown): boolean {
  if (typeof value !== "object" || value === null || value instanceof ArrayBuffer) return false;
  if (value instanceof CommitTsPlaceholder) return true;
  for (const key in value) if (hasPlaceholder((value as Record<string, unknown>)[key])) return true;
  return false;
}
