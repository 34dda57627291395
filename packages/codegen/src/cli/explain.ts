import { readFileSync } from "node:fs";
import { codes } from "../diagnostics/codes.js";
import { nearest } from "../diagnostics/nearest.js";
import { explain as explained } from "../explain/explain.js";
import { compiledPlan } from "./compiled-plan.js";
import { explainText } from "./explain-text.js";
import { UsageError } from "./functions-folder.js";
import { printTo, type Terminal } from "./terminal.js";

export interface ExplainOptions {
  readonly dir?: string;
  readonly json?: boolean;
}

/** What TypeScript reports of a workflow that is its own child. */
const typeOfItself = "TS7022";

/** The page of a diagnostic, by its code. */
function pageOf(code: string): string {
  const known: string[] = [...Object.values(codes).map((each) => each.code), typeOfItself];
  const name = code.toUpperCase();
  if (!known.includes(name)) {
    const near = nearest(name, known);
    const hint = near === undefined ? "" : ` Did you mean ${near}?`;
    throw new UsageError(`No problem has the code ${name}.${hint}`);
  }
  // The same path from the sources and from the build: both are two folders deep.
  return readFileSync(new URL(`../../errors/${name}.md`, import.meta.url), "utf8").trimEnd();
}

/** Prints what the plan costs, or the page of a diagnostic; gives the exit code. */
export async function explain(
  topic: string | undefined,
  options: ExplainOptions,
  terminal: Terminal,
): Promise<0 | 1> {
  if (topic === undefined || !/^(sw|ts)\d+$/i.test(topic))
    return await explainPlan(topic, options, terminal);
  printTo(terminal).out(pageOf(topic));
  return 0;
}

async function explainPlan(
  workflow: string | undefined,
  options: ExplainOptions,
  terminal: Terminal,
): Promise<0 | 1> {
  const plan = await compiledPlan(options.dir, workflow, terminal);
  if (plan === undefined) return 1;
  const figures = explained(plan, workflow);
  const print = printTo(terminal);
  if (options.json === true) print.out(JSON.stringify(figures, undefined, 2));
  else if (figures.length > 0)
    print.out(figures.map((each) => explainText(each, terminal.color)).join("\n\n"));
  return 0;
}
