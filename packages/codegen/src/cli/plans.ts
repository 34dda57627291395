import { statSync } from "node:fs";
import { basename, dirname, resolve } from "node:path";
import { type Answer, keepLastCompile } from "../cache/last-compile.js";
import { baselineIn, mainBaseline, noRepository } from "../compatibility/baseline.js";
import { compare } from "../compatibility/compare.js";
import type { CompileResult } from "../compile.js";
import { isRefName, Repository } from "../git/repository.js";
import { planFileIn } from "../plan/paths.js";
import { PlanUnreadable } from "../plan/parts.js";
import type { WrittenPlan } from "../plan/schema.js";
import { toWritten } from "../plan/write.js";
import { plansOf, planTexts } from "../write/last-plan.js";
import { displayPath, UsageError } from "./functions-folder.js";
import { counted } from "./written.js";

/**
 * Returns what `--against` names, a plan by its path or a commit; without it, the main branch's
 * plan.
 */
export async function baselineFor(against: string | undefined, functionsDir: string, cwd: string) {
  if (against === undefined) return mainBaseline(functionsDir);
  const full = resolve(cwd, against);
  const plan = await planAt(full, displayPath(cwd, full));
  if (plan !== undefined) {
    const given = { plan, from: displayPath(cwd, full) };
    return () => given;
  }
  const committed = isRefName(against) ? await baselineIn(functionsDir, against) : undefined;
  if (committed !== undefined) return () => committed;
  throw new UsageError(
    `There is no plan at ${displayPath(cwd, full)}, and no commit ${JSON.stringify(against)} in a git repository here.`,
  );
}

async function planAt(path: string, shown: string): Promise<WrittenPlan | undefined> {
  const isFolder = statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
  if (!isFolder && basename(path) !== "plan.json") return undefined;
  const folder = isFolder ? path : dirname(path);
  const { plans, problems } = await plansOf(planTexts(dirname(folder), basename(folder)));
  const [problem] = problems;
  if (problem !== undefined) throw new PlanUnreadable(problem.message);
  if (plans.length > 1)
    throw new PlanUnreadable(`${shown} holds both sides of a merge: take either`);
  return plans[0];
}

export function answerOf(
  functionsDir: string,
  { diagnostics, ok, plan, baseline, output }: CompileResult,
): Answer {
  const { from = "", plan: deployed } = baseline ?? {};
  const isFirst = deployed?.workflows.length === 0 && plan.workflows.length > 0;
  const repository = isFirst ? Repository.around(functionsDir) : undefined;
  const isIgnored = repository?.ignores(planFileIn(output)) === true;
  const hint = isIgnored
    ? `git ignores ${output}, so no commit has a plan to compare with: commit that folder`
    : baseline?.hint;
  const missing = isIgnored ? { isShallow: repository.isShallow() } : baseline?.missing;
  return {
    diagnostics,
    changes: ok && deployed !== undefined ? compare(deployed, toWritten(plan)) : [],
    tombstones: plan.removed ?? [],
    against: { from, ...(hint === undefined ? {} : { hint }), ...(missing && { missing }) },
    ...counted(plan),
  };
}

/** Lets the next run tell that nothing has changed, unless git may be installed by then. */
export function keepAnswer(
  functionsDir: string,
  { files, ...contents }: CompileResult,
  answer: Answer,
  branches: string,
): void {
  const mayHaveGit = answer.against.from === noRepository && branches !== "";
  if (answer.workflows === 0 || mayHaveGit) return;
  keepLastCompile(functionsDir, { ...contents, outputs: files, branches }, answer);
}
