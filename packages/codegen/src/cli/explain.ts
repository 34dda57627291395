import { explain } from "../explain/explain.js";
import { compiledPlan } from "./compiled-plan.js";
import { explainText } from "./explain-text.js";
import { printTo, type Terminal } from "./terminal.js";

export interface ExplainOptions {
  readonly dir?: string;
  readonly json?: boolean;
}

/** Prints what the plan costs; gives the exit code. */
export async function explainPlan(
  workflow: string | undefined,
  options: ExplainOptions,
  terminal: Terminal,
): Promise<0 | 1> {
  const plan = await compiledPlan(options.dir, workflow, terminal);
  if (plan === undefined) return 1;
  const explained = explain(plan, workflow);
  const print = printTo(terminal);
  if (options.json === true) print.out(JSON.stringify(explained, undefined, 2));
  else if (explained.length > 0)
    print.out(explained.map((each) => explainText(each, terminal.color)).join("\n\n"));
  return 0;
}
