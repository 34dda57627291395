type Renamed = Readonly<Record<string, string>> | undefined;

/**
 * What a stage was called before its node was renamed; undefined where it was not. Where a node and one inside it were renamed, the inner one's
 * former name counts, whole.
 * @param renamed from old names to new ones.
 */
export function formerName(renamed: Renamed, stage: string): string | undefined {
  const names = Object.entries(renamed ?? {}).map(([old, name]) => [name, old] as const);
  return mapped(names, stage);
}

/** What a stage is called now; undefined where it was not renamed. */
export function presentName(renamed: Renamed, stage: string): string | undefined {
  return mapped(Object.entries(renamed ?? {}), stage);
}

/** By the longest of the names that the stage has or stands under. */
function mapped(
  names: readonly (readonly [from: string, to: string])[],
  stage: string,
): string | undefined {
  const [longest] = names
    .filter(([from]) => stage === from || stage.startsWith(`${from}.`))
    .sort(([one], [other]) => other.length - one.length);
  return longest && longest[1] + stage.slice(longest[0].length);
}
