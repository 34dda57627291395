import { resolve } from "node:path";
import type { ChooseBaseline } from "../compatibility/baseline.js";
import { readText } from "../discover/discover.js";
import { isRefName } from "../git/repository.js";
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
  const text = readText(full);
  if (text !== undefined) {
    const { readPlan } = await import("../plan/read.js");
    const from = displayPath(cwd, full);
    const given = { plan: readPlan(text, from), from };
    return () => given;
  }
  const committed = isRefName(against) ? baselineIn(functionsDir, against) : undefined;
  if (committed !== undefined) return () => committed;
  throw new UsageError(
    `There is no plan at ${displayPath(cwd, full)}, and no commit ${JSON.stringify(against)} in a git repository here.`,
  );
}
