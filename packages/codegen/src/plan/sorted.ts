/** By code units: the same on every machine, whatever its locale. */
export const sortedBy = <Item>(items: Iterable<Item>, keyOf: (item: Item) => string): Item[] =>
  [...items].sort((a, b) => {
    const [one, other] = [keyOf(a), keyOf(b)];
    return one < other ? -1 : one > other ? 1 : 0;
  });
