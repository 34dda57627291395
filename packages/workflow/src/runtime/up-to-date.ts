import type { AnyDefinition } from "../definition/definition.js";
import { GENERATED_FORMAT } from "../rules.js";
import { allStages, type Place, placeOf } from "./place.js";

/** Refuses generated code that was written for another version of the run time. */
export function checkFormat(workflow: string, settings: { format: number } | undefined): void {
  if (settings?.format === GENERATED_FORMAT) return;
  const difference = `its format is ${settings?.format ?? "older"}, and @stepwise/workflow takes format ${GENERATED_FORMAT}`;
  throw outOfDate(workflow, difference, ", of the same version as @stepwise/workflow");
}

/** Refuses generated code of another version of a definition. @param known its stages, in order. */
export function checkUpToDate(
  workflow: string,
  definition: AnyDefinition,
  known: readonly string[],
): void {
  const difference = differenceOf(definition, known);
  if (difference !== undefined) throw outOfDate(workflow, difference);
}

const outOfDate = (workflow: string, difference: string, which = ""): Error =>
  new Error(
    `The generated code of workflow "${workflow}" is out of date: ${difference}. Run workflow-codegen${which}`,
  );

/** Refuses what the compiler has not seen: runs, or the results of nodes, would be lost. */
export function checkNotRenamed(workflow: string, { options }: AnyDefinition): void {
  const { renamed = {}, renamedFrom } = options;
  if (Object.keys(renamed).length === 0 && renamedFrom === undefined) return;
  const what = renamedFrom === undefined ? "renamed" : "renamedFrom";
  const hint = `write it beside any spread: \`defineWorkflow({ ...shared, ${what}: shared.${what} })\``;
  throw outOfDate(workflow, `it does not know its \`${what}\` (${hint})`);
}

/** Returns what to do about a part that the compiler could not see, though it is there. */
function besideSpread({ part, kind }: Place): string {
  const option = kind.isAfterEnd === true ? "onEnd" : part;
  if (option === "") return "";
  const what = option === "output" ? "`query: shared.query`, say" : `\`${option}: { … }\``;
  return ` (if that comes from a spread, write it beside the spread: ${what})`;
}

function differenceOf(definition: AnyDefinition, known: readonly string[]): string | undefined {
  const stages = allStages(definition);
  const added = stages.find((stage) => !known.includes(stage));
  if (added !== undefined)
    return `it does not know "${added}"${besideSpread(placeOf(definition, added))}`;
  const gone = known.find((stage) => !stages.includes(stage));
  if (gone !== undefined) return `it has "${gone}", which the definition does not have`;
  const moved = stages.find((stage, index) => stage !== known[index]);
  return moved === undefined ? undefined : `"${moved}" stands elsewhere in the definition`;
}
