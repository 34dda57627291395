/** The entries of a workflow's `renamed`, from old names to new ones, as far as an option that is only known as JSON has some. */
export function renamingsIn(renamed: unknown): (readonly [old: string, name: string])[] {
  if (typeof renamed !== "object" || renamed === null || Array.isArray(renamed)) return [];
  return Object.entries(renamed).filter(
    (entry): entry is [string, string] => typeof entry[1] === "string",
  );
}

/**
 * What a stage is called now, by the workflow's `renamed`: its node, or one around it, may have been renamed, more than once. As the run
 * time has it.
 */
export function renamedTo(stage: string, renamed: unknown): string | undefined {
  const all = renamingsIn(renamed);
  const first = renamedOnce(stage, all);
  let name = first;
  // Entries that lead round in a circle do not lead on.
  for (const _ of all) {
    const next = name === undefined ? undefined : renamedOnce(name, all);
    if (next === undefined) return name;
    name = next;
  }
  return first;
}

/** By the longest of the names that the stage has or stands under. */
function renamedOnce(
  stage: string,
  all: readonly (readonly [old: string, name: string])[],
): string | undefined {
  const [longest] = all
    .filter(([old]) => stage === old || stage.startsWith(`${old}.`))
    .sort(([one], [other]) => other.length - one.length);
  return longest && longest[1] + stage.slice(longest[0].length);
}
