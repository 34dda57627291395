import { deserialize, serialize } from "node:v8";
import { brotliCompressSync, brotliDecompressSync, constants } from "node:zlib";
import type { Memory } from "../analyze/analyze.js";

/** Values that hold maps. The others are JSON, which is read in a fifth of the time. */
const holdsMaps = (key: string): boolean => /^(plans|config)\b/.test(key);

/** What a compiler remembers. What an earlier process has remembered is read when asked for. */
export class CompilerMemory implements Memory {
  readonly #slots = new Map<string, Slot>();
  #used = new Set<string>();
  #hasChanged = false;

  get hasChanged(): boolean {
    return this.#hasChanged;
  }

  /** The keys of plans that an earlier process has remembered, and this one has read. */
  get read(): string[] {
    const isRead = (key: string, { bytes, made }: Slot) => bytes && made && holdsMaps(key);
    return [...this.#slots].flatMap(([key, slot]) => (isRead(key, slot) ? [key] : []));
  }

  get(key: string): unknown {
    return this.lazily(key)?.();
  }

  lazily(key: string): (() => unknown) | undefined {
    const slot = this.#slots.get(key);
    if (slot === undefined) return undefined;
    this.#used.add(key);
    // Of now, whatever is set under this key later.
    return () => valueOf(key, slot);
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

  /** A line that says how long each value is, and then all of them. */
  toBytes(): Buffer[] {
    const slots = [...this.#slots].map(([key, slot]) => [key, bytesOf(key, slot)] as const);
    const head: Head = slots.map(([key, bytes]) => [key, bytes.length]);
    return [Buffer.from(`${JSON.stringify(head)}\n`), Buffer.concat(slots.map(([, each]) => each))];
  }

  static from(bytes: Buffer): CompilerMemory {
    const memory = new CompilerMemory();
    let at = bytes.indexOf("\n") + 1;
    // Written by `toBytes`.
    for (const [key, length] of JSON.parse(bytes.toString("utf8", 0, at)) as Head)
      memory.#slots.set(key, { bytes: bytes.subarray(at, (at += length)) });
    return memory;
  }
}

type Head = readonly (readonly [key: string, length: number])[];

interface Slot {
  /** What an earlier process has made of it. */
  readonly bytes?: Buffer;
  made?: { readonly value: unknown };
}

/** Plans are most of what is kept, and after an edit hardly one is read. This takes 23 us for one. */
const packed = (value: unknown): Buffer =>
  brotliCompressSync(serialize(value), { params: { [constants.BROTLI_PARAM_QUALITY]: 0 } });

const bytesOf = (key: string, { bytes, made }: Slot): Buffer =>
  bytes ?? (holdsMaps(key) ? packed(made?.value) : Buffer.from(JSON.stringify(made?.value)));

function valueOf(key: string, slot: Slot): unknown {
  const { bytes } = slot;
  if (bytes !== undefined)
    slot.made ??= {
      value: holdsMaps(key)
        ? deserialize(brotliDecompressSync(bytes))
        : JSON.parse(bytes.toString()),
    };
  return slot.made?.value;
}
