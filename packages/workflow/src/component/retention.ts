import type { Doc } from "./_generated/dataModel.js";
import type { MutationCtx } from "./_generated/server.js";

/** Until when an ended run of the top level is kept. @returns the fields of its record that say so. */
export async function expireLater(
  _ctx: MutationCtx,
  { parentRun, retentionMs }: Doc<"runs">,
): Promise<{ expiresAt?: number }> {
  if (parentRun !== undefined || retentionMs === undefined) return {};
  return { expiresAt: Date.now() + retentionMs };
}
