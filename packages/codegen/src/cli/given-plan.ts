import { resolve } from "node:path";
import { readText } from "../discover/discover.js";
import type { WrittenPlan } from "../plan/schema.js";
import { displayPath, UsageError } from "./functions-folder.js";

/**
 * A plan that was given by its path.
 *
 * @throws UsageError when there is none
 * @throws PlanUnreadable
 */
export async function planAt(path: string, cwd: string): Promise<WrittenPlan> {
  const full = resolve(cwd, path);
  const text = readText(full);
  if (text === undefined) throw new UsageError(`There is no plan at ${displayPath(cwd, full)}.`);
  // Reading one takes a library that an ordinary `generate` of a new app does without.
  const { readPlan } = await import("../plan/read.js");
  return readPlan(text, displayPath(cwd, full));
}
