import { statSync } from "node:fs";
import { basename, dirname, resolve } from "node:path";
import type { ChooseBaseline } from "../compatibility/baseline.js";
import { readText } from "../discover/discover.js";
import { isRefName } from "../git/repository.js";
import type { WrittenPlan } from "../plan/schema.js";
import { plansOf, planTexts } from "../write/last-plan.js";
import { displayPath, UsageError } from "./functions-folder.js";

/**
 * What `--against` names, a plan by its path or a commit; without it, the main branch's plan.
 *
 * @throws UsageError when there is neither a file nor a commit of that name
 * @throws PlanUnreadable
 * @throws GitFailed
 */
export async function baselineFor(
  against: string | undefined,
  functionsDir: string,
  cwd: string,
): Promise<ChooseBaseline> {
  // Reading a plan takes a library that an ordinary `generate` of a new app does without.
  const { baselineIn, mainBaseline } = await import("../compatibility/baseline.js");
  if (against === undefined) return mainBaseline(functionsDir);
  const full = resolve(cwd, against);
  const plan = await planAt(full, displayPath(cwd, full));
  if (plan !== undefined) {
    const given = { plan, from: displayPath(cwd, full) };
    return () => given;
  }
  const committed = isRefName(against) ? baselineIn(functionsDir, against) : undefined;
  if (committed !== undefined) return () => committed;
  throw new UsageError(
    `There is no plan at ${displayPath(cwd, full)}, and no commit ${JSON.stringify(against)} in a git repository here.`,
  );
}

/** The plan in a folder of generated code, or in a file that holds all of a plan. */
async function planAt(path: string, shown: string): Promise<WrittenPlan | undefined> {
  const isFolder = statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
  if (!isFolder && basename(path) !== "plan.json") {
    const text = readText(path);
    if (text === undefined) return undefined;
    const { readPlan } = await import("../plan/read.js");
    return readPlan(text, shown);
  }
  const folder = isFolder ? path : dirname(path);
  const { plans, problems } = await plansOf(planTexts(dirname(folder), basename(folder)));
  const [problem] = problems;
  if (problem === undefined) return plans[0];
  const { PlanUnreadable } = await import("../plan/read.js");
  throw new PlanUnreadable(problem.message);
}
