import type { Memory } from "../analyze/analyze.js";

/**
 * What a compiler remembers from one time to the next. A value of an earlier process is parsed only
 * when it is asked for. What nobody asked for since the last `forgetUnused` is forgotten.
 */
export class CompilerMemory implements Memory {
  readonly #slots = new Map<string, Slot>();
  #used = new Set<string>();
  #hasChanged = false;

  get hasChanged(): boolean {
    return this.#hasChanged;
  }

  /** The keys whose values an earlier process has remembered, and this one has read. */
  get read(): string[] {
    return [...this.#slots].flatMap(([key, slot]) => (slot.text && slot.made ? [key] : []));
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
      ([key, slot]) => [key, slot.text ?? Buffer.from(toJson(valueOf(slot)))] as const,
    );
    const index = JSON.stringify(parts.map(([key, bytes]) => [key, bytes.length]));
    return Buffer.concat([Buffer.from(`${index}\n`), ...parts.map(([, bytes]) => bytes)]);
  }

  static from(bytes: Buffer): CompilerMemory {
    const memory = new CompilerMemory();
    let at = bytes.indexOf("\n") + 1;
    // Written by `toBytes`.
    for (const [key, length] of JSON.parse(bytes.toString("utf8", 0, at)) as [string, number][])
      memory.#slots.set(key, { text: bytes.subarray(at, (at += length)) });
    return memory;
  }
}

interface Slot {
  readonly text?: Buffer;
  made?: { readonly value: unknown };
}

function valueOf(slot: Slot): unknown {
  slot.made ??= { value: fromJson(slot.text?.toString() ?? "null") };
  return slot.made.value;
}

/* The values of options that plans hold have no lists, so neither can be one. */
const mapKey = "$map";
const numberKey = "$number";

/** As JSON, with maps and with numbers that JSON does not have. */
function toJson(value: unknown): string {
  return JSON.stringify(value, (_key, each: unknown) => {
    if (each instanceof Map) return { [mapKey]: [...each] };
    if (typeof each === "number" && (!Number.isFinite(each) || Object.is(each, -0)))
      return { [numberKey]: [Object.is(each, -0) ? "-0" : String(each)] };
    return each;
  });
}

function fromJson(text: string): unknown {
  const value: unknown = JSON.parse(text);
  return text.includes(`"${mapKey}"`) || text.includes(`"${numberKey}"`) ? revived(value) : value;
}

/** In place, which takes a fraction of what a reviver of `JSON.parse` does. */
function revived(value: unknown): unknown {
  if (typeof value !== "object" || value === null) return value;
  const fields = value as Record<string, unknown>;
  for (const key in fields) {
    const field = fields[key];
    if (typeof field === "object" && field !== null) fields[key] = revived(field);
  }
  const { [mapKey]: entries, [numberKey]: number } = fields;
  if (Array.isArray(entries)) return new Map(entries as [unknown, unknown][]);
  return Array.isArray(number) ? Number(number[0]) : value;
}
