export function longestCommon(first: readonly string[], second: readonly string[]): string[] {
  let row: string[][] = second.map(() => []);
  for (const item of first) {
    const next: string[][] = [];
    for (const [at, other] of second.entries()) {
      const before = at === 0 ? [] : (row[at - 1] ?? []);
      const left = next[at - 1] ?? [];
      const above = row[at] ?? [];
      const best = left.length > above.length ? left : above;
      next.push(item === other && before.length + 1 > best.length ? [...before, item] : best);
    }
    row = next;
  }
  return row.at(-1) ?? [];
}
