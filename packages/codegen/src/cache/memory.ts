import type { Memory } from "../analyze/analyze.js";
import { fromJson, toJson } from "./json.js";

/**
 * What a compiler remembers from one time to the next. What was remembered by an earlier process is read only when it is asked for; whatever nobody
 * asked for since the last `forgetUnused` goes.
 */
export class CompilerMemory implements Memory {
  readonly #slots = new Map<string, Slot>();
  #used = new Set<string>();
  #hasChanged = false;

  /** Whether there is something that was not there when it was read. */
  get hasChanged(): boolean {
    return this.#hasChanged;
  }

  /** The keys whose values an earlier process has remembered, and this one has read. */
  get read(): string[] {
    return [...this.#slots].flatMap(([key, slot]) => (slot.isRead ? [key] : []));
  }

  get(key: string): unknown {
    return this.lazily(key)?.();
  }

  lazily(key: string): (() => unknown) | undefined {
    const slot = this.#slots.get(key);
    if (slot !== undefined) this.#used.add(key);
    // Of now, whatever is set under this key later.
    return slot && (() => slot.value);
  }

  set(key: string, value: unknown): void {
    this.#slots.set(key, new Slot(undefined, { value }));
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
    const parts = [...this.#slots].map(([key, slot]) => ({ key, bytes: slot.bytes }));
    const index = JSON.stringify(parts.map(({ key, bytes }) => [key, bytes.length]));
    return Buffer.concat([Buffer.from(`${index}\n`), ...parts.map(({ bytes }) => bytes)]);
  }

  /** What was written by `toBytes`. */
  static from(bytes: Buffer): CompilerMemory {
    const memory = new CompilerMemory();
    let at = bytes.indexOf("\n") + 1;
    // Written by `toBytes`.
    for (const [key, length] of JSON.parse(bytes.toString("utf8", 0, at)) as [string, number][])
      memory.#slots.set(key, new Slot(bytes.subarray(at, (at += length))));
    return memory;
  }
}

/** A value, as JSON, as itself, or both. */
class Slot {
  constructor(
    readonly text: Buffer | undefined,
    private made?: { readonly value: unknown },
  ) {}

  get isRead(): boolean {
    return this.text !== undefined && this.made !== undefined;
  }

  get value(): unknown {
    this.made ??= { value: fromJson(this.text?.toString() ?? "null") };
    return this.made.value;
  }

  get bytes(): Buffer {
    return this.text ?? Buffer.from(toJson(this.value));
  }
}
