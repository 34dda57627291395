import { join } from "node:path";
import { diagnostic, type Diagnostic } from "../diagnostics/diagnostic.js";
import { readText } from "../discover/discover.js";
import { planFile } from "../plan/paths.js";
import type { WrittenPlan } from "../plan/schema.js";
import { presentFiles, sidesOf } from "./own-files.js";

/** What is known of the versions before. */
export interface LastPlan {
  /** The plan that was written last; of a merge's conflict that of either side. */
  readonly plans: readonly WrittenPlan[];
  /** Why nothing is known of them, though there were some. */
  readonly diagnostics: readonly Diagnostic[];
}

/**
 * The plan in the output folder.
 *
 * @param force whether one that cannot be read is passed over. Default: that is an error
 */
export async function lastPlan(functionsDir: string, force = false): Promise<LastPlan> {
  const text = readText(join(functionsDir, planFile));
  if (text === undefined) return { plans: [], diagnostics: missing(functionsDir) };
  // It brings along a library that takes its time, and a new app has no plan to read.
  const { PlanUnreadable, readPlan } = await import("../plan/read.js");
  const plans: WrittenPlan[] = [];
  let problem: string | undefined;
  for (const side of sidesOf(text)) {
    try {
      plans.push(readPlan(side, planFile));
    } catch (error) {
      if (!(error instanceof PlanUnreadable)) throw error;
      problem ??= error.message;
    }
  }
  if (problem === undefined || force) return { plans, diagnostics: [] };
  const unreadable = diagnostic(
    "unreadablePlan",
    place,
    `${problem}: it says what runs in flight may need of earlier versions`,
    {
      hint: "restore it from version control, and generate again; `workflow-codegen generate --force` writes a new one, which leaves nothing behind of earlier versions",
    },
  );
  return { plans, diagnostics: [unreadable] };
}

/** In an app that was never compiled there is nothing to miss. */
function missing(functionsDir: string): Diagnostic[] {
  if (presentFiles(functionsDir).own.size === 0) return [];
  const message = `${planFile} is not there, though other generated files are: of what is gone since they were written nothing is left behind for runs in flight`;
  return [
    diagnostic("missingPlan", place, message, {
      hint: `restore it from version control, and generate again: \`git checkout -- <functions folder>/${planFile}\``,
    }),
  ];
}

const place = { file: planFile, line: 1, column: 1 };
