import { join } from "node:path";
import { diagnostic, type Diagnostic, startOf } from "../diagnostics/diagnostic.js";
import { stampOf } from "../discover/stamp.js";
import { entriesIfPresent, readText, Unreadable, unlessUnreadable } from "../discover/discover.js";
import { isPlanFile, planFileIn, workflowPlanIn } from "../plan/paths.js";
import { emittedKey, joinedPlan, partOnce, PlanUnreadable, summarizedPart } from "../plan/parts.js";
import type { EmittedFile, PlanPart, ReadBefore } from "../plan/parts.js";
import { hashOf } from "../plan/hash-of.js";
import { generatedFolders, presentFiles, sidesOf } from "./present-files.js";

/**
 * The plan in the output folder, one for each side of a merge's conflicts; and the other folders
 * with generated code. @param force whether unreadable files are skipped
 */
export async function lastPlan(
  functionsDir: string,
  output: string,
  force = false,
  before?: ReadBefore,
) {
  const texts = planTexts(functionsDir, output, before);
  const elsewhere =
    texts.size > 0 ? [] : generatedFolders(functionsDir).filter((folder) => folder !== output);
  const { plans, problems } = await plansOf(texts, before);
  const diagnostics = [...missing(functionsDir, output, texts), ...(force ? [] : problems)];
  return { plans, elsewhere, diagnostics };
}

/** The files of a plan; of some it is known what they hold. */
export type PlanTexts = ReadonlyMap<string, string | PlanPart | Unreadable>;

/** @param before what is remembered of files that were written. Default: nothing. */
export function planTexts(functionsDir: string, output: string, before?: ReadBefore): PlanTexts {
  const names = unlessUnreadable(() => entriesIfPresent(join(functionsDir, output)));
  if (names instanceof Unreadable) return new Map([[planFileIn(output), names]]);
  const paths = names.map(({ name }) => `${output}/${name}`).filter(isPlanFile);
  return new Map(
    paths.sort().flatMap((path) => {
      const full = `${functionsDir}/${path}`;
      const part = before && partThere(full, before.get(emittedKey(path)));
      const text = part ?? unlessUnreadable(() => readText(full));
      return text === undefined ? [] : [[path, text] as const];
    }),
  );
}

/** What a file holds if nobody has changed it since it was seen to hold that. */
function partThere(full: string, emitted: unknown): PlanPart | undefined {
  // Nothing else is set under the key of a file.
  const { plan, stamp } = (emitted ?? {}) as Partial<EmittedFile>;
  if (plan === undefined || stamp === undefined || stampOf(full) !== stamp) return undefined;
  return summarizedPart(plan, () => readText(full) ?? "");
}

export async function plansOf(texts: PlanTexts, before: ReadBefore = new Map<string, unknown>()) {
  if (texts.size === 0) return { plans: [], problems: [] };
  const problems: Diagnostic[] = [];
  const files: PlanPart[][] = [];
  for (const [path, text] of texts) {
    const parts: PlanPart[] = [];
    files.push(parts);
    if (text instanceof Unreadable) {
      problems.push(unreadablePlan(path, text.message.replace(text.path, path)));
      continue;
    }
    if (typeof text !== "string") {
      parts.push(text);
      continue;
    }
    for (const side of sidesOf(text))
      try {
        parts.push(await partOnce(before, { path, id: hashOf(side) }, () => side));
      } catch (error) {
        if (!(error instanceof PlanUnreadable)) throw error;
        problems.push(unreadablePlan(path, error.message, error.isNewer));
      }
  }
  const isMerge = files.some((sides) => sides.length > 1);
  const side = (at: number) => joinedPlan(files.flatMap((sides) => sides[at] ?? sides[0] ?? []));
  return { plans: isMerge ? [side(0), side(1)] : [side(0)], problems };
}

function unreadablePlan(file: string, problem: string, isNewer = false): Diagnostic {
  const message = `${problem}: it says what runs in flight may need of earlier versions`;
  const hint = isNewer
    ? "a newer compiler wrote it, so upgrade this one: `npm install --save-dev @stepwise/codegen@latest`"
    : "restore it from version control, and generate again; `workflow-codegen generate --force` writes a new one, which leaves nothing behind of earlier versions";
  return diagnostic("unreadablePlan", startOf(file), isNewer ? problem : message, hint);
}

/** In an app that was never compiled there is nothing to miss. */
function missing(functionsDir: string, output: string, texts: PlanTexts): Diagnostic[] {
  if ([...texts.values()].some((text) => text instanceof Unreadable)) return [];
  const known = new Set([`${output}/index.ts`, `${output}/workflows.ts`]);
  const planOf = (path: string) => workflowPlanIn(output, path.slice(output.length + 1, -3));
  const lacksPlan = (path: string) =>
    path.endsWith(".ts") && !known.has(path) && !texts.has(planOf(path));
  const { own } = presentFiles(functionsDir, [output], lacksPlan);
  const [first, ...others] = [...own.keys()].map(planOf);
  if (first === undefined) return [];
  const file = texts.size === 0 ? planFileIn(output) : first;
  const more = others.length === 0 || texts.size === 0 ? "" : `, nor are ${others.length} more`;
  const message = `${file} is not there${more}, though other generated files are: what is gone since they were written gets no tombstone for runs in flight`;
  const hint = `restore it from version control, and generate again: \`git checkout -- <functions folder>/${file}\``;
  return [diagnostic("missingPlan", startOf(file), message, hint)];
}
