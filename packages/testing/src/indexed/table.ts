import {
  compareDocuments,
  type Document,
  type Field,
  fieldAt,
  isBeyond,
  type Range,
} from "./order.js";

/**
 * The documents of a table in the order of some of their fields, the last of which tells any two
 * apart.
 */
export class Index {
  readonly fields: readonly Field[];
  readonly #documents: Document[];

  constructor(paths: readonly string[], documents: Iterable<Document>) {
    this.fields = paths.map(fieldAt);
    this.#documents = [...documents].sort((a, b) => compareDocuments(this.fields, a, b));
  }

  at(position: number): Document | undefined {
    return this.#documents[position];
  }

  /** The first position in the range, and the one after its last. */
  positions(range: Range): { from: number; to: number } {
    const places = (bounds: Range["from"]) =>
      bounds.map((bound) => this.#first((document) => isBeyond(document, this.fields, bound)));
    const from = Math.max(0, ...places(range.from));
    return { from, to: Math.max(from, Math.min(this.#documents.length, ...places(range.to))) };
  }

  /** Puts one document into the place of another; undefined is none. */
  replace(old: Document | undefined, document: Document | undefined): void {
    if (old === undefined) {
      if (document !== undefined) this.#documents.splice(this.#placeOf(document), 0, document);
      return;
    }
    const place = this.#placeOf(old);
    if (this.#documents[place] !== old) throw new Error(`The document "${old._id}" is not indexed`);
    if (document !== undefined && compareDocuments(this.fields, old, document) === 0) {
      this.#documents[place] = document;
      return;
    }
    this.#documents.splice(place, 1);
    this.replace(undefined, document);
  }

  #placeOf(document: Document): number {
    return this.#first((other) => compareDocuments(this.fields, other, document) >= 0);
  }

  /** The first position from which on `is` holds, by halving. */
  #first(is: (document: Document) => boolean): number {
    let from = 0;
    let to = this.#documents.length;
    while (from < to) {
      const middle = (from + to) >>> 1;
      if (is(this.#documents[middle]!)) to = middle;
      else from = middle + 1;
    }
    return from;
  }
}

/** What is committed of one table. */
export class Table {
  /** By id, in the order of their first commits, as convex-test keeps them. */
  readonly documents = new Map<string, Document>();
  readonly #indexes = new Map<string, Index>();

  /**
   * The index over these fields. It is built when it is first asked for, and kept up from then on.
   */
  index(paths: readonly string[]): Index {
    const name = paths.join(",");
    const existing = this.#indexes.get(name);
    if (existing !== undefined) return existing;
    const index = new Index(paths, this.documents.values());
    this.#indexes.set(name, index);
    return index;
  }

  /** Sets what is committed under an id; undefined is nothing. */
  set(id: string, document: Document | undefined): void {
    const old = this.documents.get(id);
    for (const index of this.#indexes.values()) index.replace(old, document);
    if (document === undefined) this.documents.delete(id);
    else this.documents.set(id, document);
  }
}
