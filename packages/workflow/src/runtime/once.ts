/* What is found once: of a definition, which does not change, or of what is compiled of it. */

let provisional = 0;

/** Asks what may be asked again meanwhile: answers that are found by then are not the last. */
export function askProvisionally<Answer>(ask: () => Answer): Answer {
  provisional += 1;
  try {
    return ask();
  } finally {
    provisional -= 1;
  }
}

/** Says whether what is found now may be kept. */
export const isFinal = (): boolean => provisional === 0;

/** A table of what is found of each stage. */
export function onceForEach<Of extends object, Fact>(find: (of: Of, stage: string) => Fact) {
  const tables = new WeakMap<Of, Map<string, Fact>>();
  return (of: Of, stage: string): Fact => {
    const table = tables.get(of) ?? new Map<string, Fact>();
    tables.set(of, table);
    const known = table.get(stage);
    if (known !== undefined) return known;
    const fact = find(of, stage);
    if (provisional === 0) table.set(stage, fact);
    return fact;
  };
}
