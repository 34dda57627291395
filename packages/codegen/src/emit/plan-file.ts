import type { WrittenPlan } from "../plan/schema.js";

/** `plan.json`: what holds for all workflows. It changes with the config and the compiler only. */
export const appPlanText = ({ generatedBy, compiler, version, config }: WrittenPlan): string =>
  laidOut({ generatedBy, compiler, version, config });

/** The plan of one workflow; the workflow is undefined if it was removed. */
export const workflowPlanText = (
  { generatedBy, version }: WrittenPlan,
  workflow: WrittenPlan["workflows"][number] | undefined,
  removed: NonNullable<WrittenPlan["removed"]>[number] | undefined,
): string => laidOut({ generatedBy, version, workflow, removed });

/** A list of values on lines of their own: where it fits, Prettier wants it on one. */
const openList =
  /^( *)(.*)\[\n((?: +(?:"(?:[^"\\]|\\.)*"|[^"[\]{}\s]+|\[\]|\{\}),?\n)+)\1\](,?)$/gm;

/** JSON, laid out so that Prettier leaves it as it is. */
function laidOut(value: object): string {
  const text = JSON.stringify(value, undefined, 2).replace(
    openList,
    (open: string, margin: string, lead: string, items: string, comma: string) => {
      const flat = `${margin}${lead}[${items.trim().replace(/\n +/g, " ")}]${comma}`;
      return flat.length <= 80 ? flat : open;
    },
  );
  return `${text}\n`;
}
