/** The known name that `name` most likely stands for, if any is near enough to be a slip of the pen. */
export function nearest(name: string, known: Iterable<string>): string | undefined {
  const reach = Math.max(1, Math.floor(name.length / 3));
  let best: { name: string; distance: number } | undefined;
  for (const candidate of known) {
    const distance = editDistance(name.toLowerCase(), candidate.toLowerCase());
    if (distance <= reach && (best === undefined || distance < best.distance))
      best = { name: candidate, distance };
  }
  return best?.name;
}

/** How many characters must be inserted, removed, replaced or exchanged with their neighbour to get from one to the other. */
function editDistance(from: string, to: string): number {
  let beforePrevious: number[] = [];
  let previous = Array.from({ length: to.length + 1 }, (_, column) => column);
  for (let row = 1; row <= from.length; row++) {
    const current = [row];
    for (let column = 1; column <= to.length; column++) {
      const replaced = cell(previous, column - 1) + (from[row - 1] === to[column - 1] ? 0 : 1);
      let cost = Math.min(replaced, cell(previous, column) + 1, cell(current, column - 1) + 1);
      if (
        row > 1 &&
        column > 1 &&
        from[row - 1] === to[column - 2] &&
        from[row - 2] === to[column - 1]
      ) {
        cost = Math.min(cost, cell(beforePrevious, column - 2) + 1);
      }
      current.push(cost);
    }
    beforePrevious = previous;
    previous = current;
  }
  return cell(previous, to.length);
}

function cell(row: readonly number[], column: number): number {
  return row[column] ?? Number.POSITIVE_INFINITY;
}

/**
 * What to say of an unknown name: the nearest known one, or all there are.
 *
 * @param what the names are of: `workflows`
 */
export function suggestion(name: string, known: readonly string[], what: string): string {
  const near = nearest(name, known);
  if (near !== undefined) return `Did you mean ${JSON.stringify(near)}?`;
  return known.length === 0 ? `There are no ${what} at all.` : `There are: ${known.join(", ")}.`;
}
