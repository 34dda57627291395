/** The known name that a name most likely stands for, if any is near enough to be a slip of the pen. */
export function nearest(name: string, known: readonly string[]): string | undefined {
  const reach = Math.max(1, Math.floor(name.length / 3));
  const distances = known.map((other) => ({ other, distance: distanceOf(name, other) }));
  const near = distances.filter(({ distance }) => distance <= reach);
  return near.sort((one, another) => one.distance - another.distance)[0]?.other;
}

/** What to say of a name that is none of those known. */
export function suggestion(name: string, known: readonly string[]): string {
  const likely = nearest(name, known);
  if (likely !== undefined) return `. Did you mean "${likely}"?`;
  return known.length === 0 ? "" : `; there is ${known.map((one) => `"${one}"`).join(", ")}`;
}

/** How many characters must be inserted, removed or replaced to get from one text to the other, whatever their case. */
function distanceOf(one: string, other: string): number {
  const [from, to] = [one.toLowerCase(), other.toLowerCase()];
  let row = Array.from({ length: to.length + 1 }, (_none, column) => column);
  for (const [index, character] of [...from].entries()) {
    const next = [index + 1];
    for (let column = 1; column <= to.length; column++) {
      const replaced = row[column - 1]! + (character === to[column - 1] ? 0 : 1);
      next.push(Math.min(replaced, row[column]! + 1, next[column - 1]! + 1));
    }
    row = next;
  }
  return row[to.length]!;
}
