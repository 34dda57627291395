import { join } from "node:path";
import { diagnostic, type Diagnostic, type Place } from "../diagnostics/diagnostic.js";
import { readText } from "../discover/discover.js";
import { Unreadable } from "../discover/unreadable.js";
import { planFileIn } from "../plan/paths.js";
import type { WrittenPlan } from "../plan/schema.js";
import { generatedFolders } from "./generated-folders.js";
import { presentFiles, sidesOf } from "./own-files.js";

/** What is known of the versions before. */
export interface LastPlan {
  /** The plan that was written last; of a merge's conflict that of either side. */
  readonly plans: readonly WrittenPlan[];
  /** The folders that generated code stands in though it is to stand in another. */
  readonly moved: readonly string[];
  /** Why nothing is known of them, though there were some. */
  readonly diagnostics: readonly Diagnostic[];
}

/**
 * The plan in the output folder; when generated code is yet to be moved there, that of the folder where it is.
 *
 * @param force whether one that cannot be read is passed over. Default: that is an error
 */
export async function lastPlan(
  functionsDir: string,
  output: string,
  force = false,
): Promise<LastPlan> {
  const isThere = isPresent(functionsDir, output);
  const moved = isThere ? [] : generatedFolders(functionsDir).filter((folder) => folder !== output);
  const folders = moved.length === 0 ? [output] : moved;
  const planOf = async (folder: string) => await planIn(functionsDir, folder, force);
  const found = await Promise.all(folders.map(planOf));
  const known = new Set([output, ...folders]);
  const former = found.flatMap(({ plans }) => plans.flatMap((plan) => plan.former ?? []));
  // A merge brings the plan of a former folder back, with what a branch has added there that did not know of the move.
  const again = [...new Set(former.map(({ folder }) => folder))].filter(
    (folder) => !known.has(folder) && isPresent(functionsDir, folder),
  );
  const all = [...found, ...(await Promise.all(again.map(planOf)))];
  return {
    plans: all.flatMap(({ plans }) => plans),
    moved,
    diagnostics: all.flatMap(({ diagnostics }) => diagnostics),
  };
}

/** The text of the plan in a folder, if there is one. */
const textOf = (functionsDir: string, folder: string): string | undefined =>
  readText(join(functionsDir, planFileIn(folder)));

/** Whether there is one, though it may be that it cannot be read. */
function isPresent(functionsDir: string, folder: string): boolean {
  try {
    return textOf(functionsDir, folder) !== undefined;
  } catch (error) {
    if (error instanceof Unreadable) return true;
    throw error;
  }
}

async function planIn(
  functionsDir: string,
  folder: string,
  force: boolean,
): Promise<Omit<LastPlan, "moved">> {
  const planFile = planFileIn(folder);
  const place = { file: planFile, line: 1, column: 1 };
  let text: string | undefined;
  try {
    text = textOf(functionsDir, folder);
  } catch (error) {
    if (!(error instanceof Unreadable)) throw error;
    const message = error.message.replace(error.path, planFile);
    return { plans: [], diagnostics: [unreadable(place, message)] };
  }
  if (text === undefined) return { plans: [], diagnostics: missing(functionsDir, folder, place) };
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
  return { plans, diagnostics: [unreadable(place, problem)] };
}

const unreadable = (place: Place, problem: string): Diagnostic =>
  diagnostic(
    "unreadablePlan",
    place,
    `${problem}: it says what runs in flight may need of earlier versions`,
    {
      hint: "restore it from version control, and generate again; `workflow-codegen generate --force` writes a new one, which leaves nothing behind of earlier versions",
    },
  );

/** In an app that was never compiled there is nothing to miss. */
function missing(functionsDir: string, folder: string, place: Place): Diagnostic[] {
  if (presentFiles(functionsDir, [folder]).own.size === 0) return [];
  const message = `${place.file} is not there, though other generated files are: of what is gone since they were written nothing is left behind for runs in flight`;
  return [
    diagnostic("missingPlan", place, message, {
      hint: `restore it from version control, and generate again: \`git checkout -- <functions folder>/${place.file}\``,
    }),
  ];
}
