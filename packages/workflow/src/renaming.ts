type Renamed = Readonly<Record<string, string>> | undefined;
type Pair = readonly [from: string, to: string];

/** What a stage is called now; undefined where it was not renamed. A name that was changed again leads on to the one after it. */
export function presentName(renamed: Renamed, stage: string): string | undefined {
  const pairs = Object.entries(renamed ?? {});
  const [first] = mapped(pairs, stage);
  let name = first;
  // Each entry is followed once at most: those that lead round in a circle, as where two nodes have changed names, do not lead on.
  for (const _ of pairs) {
    const [next] = name === undefined ? [] : mapped(pairs, name);
    if (next === undefined) return name;
    name = next;
  }
  return first;
}

/**
 * All that a stage was called before its node was renamed, or one around it: the names of which it is the present one. Of a name before
 * those that it had before that, of an inner node before those of one around it, and what was written last first.
 * @param renamed from old names to new ones.
 */
export function formerNames(renamed: Renamed, stage: string): string[] {
  const pairs = Object.entries(renamed ?? {})
    .map(([old, name]): Pair => [name, old])
    .reverse();
  const names = [stage];
  for (const name of names)
    for (const former of mapped(pairs, name))
      if (!names.includes(former) && presentName(renamed, former) === stage) names.push(former);
  return names.slice(1);
}

/** What a stage becomes by each of the pairs whose name it has or stands under, the longest first. */
function mapped(pairs: readonly Pair[], stage: string): string[] {
  return pairs
    .filter(([from]) => stage === from || stage.startsWith(`${from}.`))
    .sort(([one], [other]) => other.length - one.length)
    .map(([from, to]) => to + stage.slice(from.length));
}
