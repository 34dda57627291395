/* What is found once: of a definition, which does not change, or of what is compiled of it. */

/** A table of what is found of each stage. */
export function onceForEach<Of extends object, Fact>(find: (of: Of, stage: string) => Fact) {
  const tables = new WeakMap<Of, Map<string, Fact>>();
  return (of: Of, stage: string): Fact => {
    const table = tableOf(tables, of);
    const known = table.get(stage);
    if (known !== undefined) return known;
    const fact = find(of, stage);
    table.set(stage, fact);
    return fact;
  };
}

function tableOf<Of extends object, Fact>(tables: WeakMap<Of, Map<string, Fact>>, of: Of) {
  const table = tables.get(of) ?? new Map<string, Fact>();
  tables.set(of, table);
  return table;
}

/** What the first question has led to, in its table, if one is being asked. */
let led: { readonly table: Map<string, boolean>; readonly path: string }[] | undefined;

/**
 * A question whose answer is yes if something is so, or if the answer to one that it leads to is: of
 * this kind or of another, perhaps in a circle. Each is asked once; until then its answer is no.
 */
export function askedOnce<Of extends object>(ask: (of: Of, path: string) => boolean) {
  const tables = new WeakMap<Of, Map<string, boolean>>();
  return (of: Of, path: string): boolean => {
    const table = tableOf(tables, of);
    const known = table.get(path);
    if (known !== undefined) return known;
    const isFirst = led === undefined;
    const asked = (led ??= []);
    asked.push({ table, path });
    table.set(path, false);
    let answer: boolean | undefined;
    try {
      answer = ask(of, path);
      table.set(path, answer);
      return answer;
    } finally {
      if (isFirst) led = undefined;
      // If the first is a no, so are all. Else a no may have hung on what was still asked.
      if (isFirst && answer !== false)
        for (const each of asked)
          if (each.table.get(each.path) === false) each.table.delete(each.path);
    }
  };
}
