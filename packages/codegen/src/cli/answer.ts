import { keepLastCompile, type Answer } from "../cache/last-compile.js";
import { noRepository } from "../compatibility/baseline.js";
import { compare } from "../compatibility/compare.js";
import type { CompileResult } from "../compile.js";
import { Repository } from "../git/repository.js";
import { planFileIn } from "../plan/paths.js";
import { toWritten } from "../plan/write.js";
import { counted } from "./report.js";

/** What there is to say of a compilation once its files are written. */
export function answerOf(
  functionsDir: string,
  { diagnostics, ok, plan, baseline, output }: CompileResult,
): Answer {
  const { from = "", plan: deployed } = baseline ?? {};
  const isFirst = deployed?.workflows.length === 0 && plan.workflows.length > 0;
  const isIgnored =
    isFirst && Repository.around(functionsDir)?.ignores(planFileIn(output)) === true;
  const hint = isIgnored
    ? `git ignores ${output}, so no commit has a plan to compare with: commit that folder`
    : baseline?.hint;
  return {
    diagnostics,
    changes: ok && deployed !== undefined ? compare(deployed, toWritten(plan)) : [],
    tombstones: plan.removed ?? [],
    against: { from, ...(hint === undefined ? {} : { hint }) },
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
  const outputs = new Map(files.map(({ path, text }) => [path, text]));
  keepLastCompile(functionsDir, { ...contents, outputs, branches }, answer);
}
