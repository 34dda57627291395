import { deserialize, serialize } from "node:v8";
import type { Memory } from "../analyze/analyze.js";

/** Values that hold maps. Most of an earlier process are not needed: each is by itself. */
const isApart = (key: string): boolean => /^(plans|config)\b/.test(key);

/** What a compiler remembers. Plans of an earlier process are read only when asked for. */
export class CompilerMemory implements Memory {
  readonly #slots = new Map<string, Slot>();
  #used = new Set<string>();
  #hasChanged = false;

  get hasChanged(): boolean {
    return this.#hasChanged;
  }

  /** The keys of plans that an earlier process has remembered, and this one has read. */
  get read(): string[] {
    return [...this.#slots].flatMap(([key, slot]) => (slot.bytes && slot.made ? [key] : []));
  }

  get(key: string): unknown {
    return this.lazily(key)?.();
  }

  lazily(key: string): (() => unknown) | undefined {
    const slot = this.#slots.get(key);
    if (slot === undefined) return undefined;
    this.#used.add(key);
    // Of now, whatever is set under this key later.
    return () => valueOf(slot);
  }

  set(key: string, value: unknown): void {
    this.#slots.set(key, { made: { value } });
    this.#used.add(key);
    this.#hasChanged = true;
  }

  forgetUnused(): void {
    for (const key of this.#slots.keys()) {
      if (this.#used.has(key)) continue;
      this.#slots.delete(key);
      this.#hasChanged = true;
    }
    this.#used = new Set();
  }

  /** A line with all values but those that are apart, and where these stand after it. */
  toBytes(): Buffer[] {
    const apart: [key: string, bytes: Buffer][] = [];
    const values: [key: string, value: unknown][] = [];
    for (const [key, slot] of this.#slots)
      if (isApart(key)) apart.push([key, slot.bytes ?? serialize(valueOf(slot))]);
      else values.push([key, valueOf(slot)]);
    // JSON is read in a fifth of the time of what `serialize` makes.
    const head: Head = { values, apart: apart.map(([key, bytes]) => [key, bytes.length]) };
    return [Buffer.from(`${JSON.stringify(head)}\n`), ...apart.map(([, bytes]) => bytes)];
  }

  static from(bytes: Buffer): CompilerMemory {
    const memory = new CompilerMemory();
    let at = bytes.indexOf("\n") + 1;
    // Written by `toBytes`.
    const { values, apart } = JSON.parse(bytes.toString("utf8", 0, at)) as Head;
    for (const [key, value] of values) memory.#slots.set(key, { made: { value } });
    for (const [key, length] of apart)
      memory.#slots.set(key, { bytes: bytes.subarray(at, (at += length)) });
    return memory;
  }
}

interface Head {
  readonly values: readonly [key: string, value: unknown][];
  readonly apart: readonly [key: string, length: number][];
}

interface Slot {
  readonly bytes?: Buffer;
  made?: { readonly value: unknown };
}

function valueOf(slot: Slot): unknown {
  slot.made ??= { value: slot.bytes && deserialize(slot.bytes) };
  return slot.made.value;
}
