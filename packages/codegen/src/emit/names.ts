/**
 * The names of one generated file. Those of its exports are fixed, as other code knows them; a local name gives way to them
 * by an appended `_`.
 */
export class FileNames {
  readonly #taken: Set<string>;
  readonly #locals = new Map<string, string>();

  /** @param fixed names that no local may have: exports, and what must not be hidden */
  constructor(fixed: Iterable<string>) {
    this.#taken = new Set(fixed);
  }

  /**
   * The local name for something, always the same one for the same key.
   *
   * @param key what it stands for, told apart from all else in the file
   */
  of(key: string, wanted: string = key): string {
    const known = this.#locals.get(key);
    if (known !== undefined) return known;
    let name = wanted;
    while (this.#taken.has(name)) name += "_";
    this.#taken.add(name);
    this.#locals.set(key, name);
    return name;
  }
}
