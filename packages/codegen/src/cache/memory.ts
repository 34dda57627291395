import { deserialize, serialize } from "node:v8";
import type { Memory } from "../analyze/analyze.js";

/** What a compiler remembers. A value of an earlier process is parsed only when asked for. */
export class CompilerMemory implements Memory {
  readonly #slots = new Map<string, Slot>();
  #used = new Set<string>();
  #hasChanged = false;

  get hasChanged(): boolean {
    return this.#hasChanged;
  }

  /** The keys whose values an earlier process has remembered, and this one has read. */
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

  /** A line with the keys and how many bytes each takes, and the values after it. */
  toBytes(): Buffer {
    const parts = [...this.#slots].map(
      ([key, slot]) => [key, slot.bytes ?? serialize(valueOf(slot))] as const,
    );
    const index = JSON.stringify(parts.map(([key, bytes]) => [key, bytes.length]));
    return Buffer.concat([Buffer.from(`${index}\n`), ...parts.map(([, bytes]) => bytes)]);
  }

  static from(bytes: Buffer): CompilerMemory {
    const memory = new CompilerMemory();
    let at = bytes.indexOf("\n") + 1;
    // Written by `toBytes`.
    for (const [key, length] of JSON.parse(bytes.toString("utf8", 0, at)) as [string, number][])
      memory.#slots.set(key, { bytes: bytes.subarray(at, (at += length)) });
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
