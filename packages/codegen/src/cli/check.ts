import { Compiler, type CompileResult, driftOf, writeGenerated } from "../compile.js";
import type { Baseline } from "../compatibility/baseline.js";
import { compare } from "../compatibility/compare.js";
import { refsState } from "../git/repository.js";
import { withoutThose } from "../plan/tombstones.js";
import type { Tombstones } from "../plan/schema.js";
import { toWritten } from "../plan/write.js";
import { lastPlan } from "../write/last-plan.js";
import { isSafe, printFindings } from "./report.js";
import { functionsFolder } from "./functions-folder.js";
import { answerOf, baselineFor, keepAnswer } from "./plans.js";
import type { Terminal } from "./terminal.js";

export interface CheckOptions {
  readonly dir?: string;
  readonly against?: string;
  readonly json?: boolean;
  readonly drop?: boolean;
}

export async function check(options: CheckOptions, terminal: Terminal): Promise<0 | 1> {
  const functionsDir = functionsFolder(terminal.cwd, options.dir);
  const { against, json = false } = options;
  const branches = refsState(functionsDir);
  const choose = await baselineFor(against, functionsDir, terminal.cwd);
  const compiler = new Compiler({ once: true });
  const compiled = await compiler.compile({ functionsDir, baseline: choose });
  compiler.remember(functionsDir);
  const { ok, diagnostics, files, output, plan, baseline } = compiled;
  const deployed = baseline?.plan;
  const drift = ok
    ? await driftOf(functionsDir, files, { folders: [output] })
    : { written: [], removed: [], edited: [] };
  const isUpToDate = drift.written.length + drift.removed.length === 0;
  const answer = answerOf(functionsDir, compiled);
  const [before] =
    deployed === undefined && ok && !isUpToDate ? (await lastPlan(functionsDir, output)).plans : [];
  const changes = before === undefined ? answer.changes : compare(before, toWritten(plan));
  const isFine = ok && isUpToDate && changes.every(isSafe);
  // Whatever becomes of the runs of the plan that is deployed: what they need is kept.
  const mayDrop = isFine || (ok && isUpToDate && deployed !== undefined);
  const dropping = options.drop !== true ? "notAsked" : mayDrop ? "done" : "refused";
  const droppable = dropping === "done" ? await drop(functionsDir, compiled, baseline) : [];
  const dropped = droppable.length > 0;
  if (ok && isUpToDate && !dropped && against === undefined)
    keepAnswer(functionsDir, compiled, answer, branches);
  const { written, removed, edited } = drift;
  const found = {
    ok: isFine,
    drift: { written, removed, edited },
    changes,
    tombstones: dropped ? droppable : answer.tombstones,
    dropped,
    against: answer.against,
  };
  const checking = { functionsDir, json, against, dropping, isCompiled: ok } as const;
  return printFindings(found, diagnostics, checking, terminal);
}

/** Writes generated code without the tombstones that the baseline does not need; gives these. */
async function drop(
  functionsDir: string,
  { plan: whole, output }: CompileResult,
  deployed: Baseline | undefined,
): Promise<readonly Tombstones[]> {
  const kept = deployed?.plan === undefined ? {} : { baseline: () => deployed };
  const { files, plan } = await new Compiler().compile({ functionsDir, drop: true, ...kept });
  const dropped = withoutThose(whole.removed ?? [], plan.removed ?? []);
  if (dropped.length > 0) await writeGenerated(functionsDir, files, { folders: [output] });
  return dropped;
}
