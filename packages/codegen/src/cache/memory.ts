import { deserialize, serialize } from "node:v8";
import type { Memory } from "../analyze/analyze.js";

/** Values that hold maps. Most of an earlier process are not needed: each is by itself. */
const apart = new Set(["plans", "config"]);

const kindOf = (key: string): string => key.slice(0, Math.max(0, key.indexOf(" "))) || key;

/** What a compiler remembers. Values of an earlier process are parsed only when asked for. */
export class CompilerMemory implements Memory {
  readonly #slots = new Map<string, Slot>();
  /** Those of an earlier process that are read together, by kind, until one is asked for. */
  readonly #unread = new Map<string, Buffer>();
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
    this.#open(kindOf(key));
    const slot = this.#slots.get(key);
    if (slot === undefined) return undefined;
    this.#used.add(key);
    // Of now, whatever is set under this key later.
    return () => valueOf(slot);
  }

  #open(kind: string): void {
    const bytes = this.#unread.get(kind);
    if (bytes === undefined) return;
    this.#unread.delete(kind);
    // Written by `toBytes`. JSON is read in a fifth of the time of what `serialize` makes.
    for (const [key, value] of JSON.parse(bytes.toString()) as [string, unknown][])
      this.#slots.set(key, { made: { value } });
  }

  set(key: string, value: unknown): void {
    this.#open(kindOf(key));
    this.#slots.set(key, { made: { value } });
    this.#used.add(key);
    this.#hasChanged = true;
  }

  forgetUnused(): void {
    // Of these nothing was asked for.
    if (this.#unread.size > 0) this.#hasChanged = true;
    this.#unread.clear();
    for (const key of this.#slots.keys()) {
      if (this.#used.has(key)) continue;
      this.#slots.delete(key);
      this.#hasChanged = true;
    }
    this.#used = new Set();
  }

  /** A line with the keys and how many bytes each takes, and the values after it. */
  toBytes(): Buffer[] {
    const together = new Map<string, [key: string, value: unknown][]>();
    const parts: (readonly [key: string, bytes: Buffer])[] = [];
    for (const [key, slot] of this.#slots) {
      const kind = kindOf(key);
      if (apart.has(kind)) parts.push([key, slot.bytes ?? serialize(valueOf(slot))]);
      else if (together.has(kind)) together.get(kind)?.push([key, valueOf(slot)]);
      else together.set(kind, [[key, valueOf(slot)]]);
    }
    for (const [kind, values] of together) parts.push([kind, Buffer.from(JSON.stringify(values))]);
    const index = JSON.stringify(parts.map(([key, bytes]) => [key, bytes.length]));
    return [Buffer.from(`${index}\n`), ...parts.map(([, bytes]) => bytes)];
  }

  static from(bytes: Buffer): CompilerMemory {
    const memory = new CompilerMemory();
    let at = bytes.indexOf("\n") + 1;
    // Written by `toBytes`.
    for (const [key, length] of JSON.parse(bytes.toString("utf8", 0, at)) as [string, number][]) {
      const part = bytes.subarray(at, (at += length));
      if (apart.has(kindOf(key))) memory.#slots.set(key, { bytes: part });
      else memory.#unread.set(key, part);
    }
    return memory;
  }
}

interface Slot {
  readonly bytes?: Buffer;
  made?: { readonly value: unknown };
}

function valueOf(slot: Slot): unknown {
  slot.made ??= { value: slot.bytes && deserialize(slot.bytes) };
  return slot.made.value;
}
