import type { Memory } from "../analyze/analyze.js";
import { fromJson, toJson } from "./json.js";

/**
 * What a compiler remembers from one time to the next. What was remembered by an earlier process is read only when it is asked for; whatever nobody
 * asked for since the last `forgetUnused` goes.
 */
export class CompilerMemory implements Memory {
  #values = new Map<string, unknown>();
  /** By key, as JSON: what is not read yet, or has not changed since it was. */
  #texts = new Map<string, string>();
  #used = new Set<string>();
  #hasChanged = false;

  /** Whether there is something that was not there when it was read. */
  get hasChanged(): boolean {
    return this.#hasChanged;
  }

  get(key: string): unknown {
    const text = this.#values.has(key) ? undefined : this.#texts.get(key);
    if (text !== undefined) this.#values.set(key, fromJson(text));
    if (this.#values.has(key)) this.#used.add(key);
    return this.#values.get(key);
  }

  set(key: string, value: unknown): void {
    this.#values.set(key, value);
    this.#texts.delete(key);
    this.#used.add(key);
    this.#hasChanged = true;
  }

  forgetUnused(): void {
    const used = this.#used;
    for (const key of [...this.#values.keys(), ...this.#texts.keys()]) {
      if (used.has(key)) continue;
      this.#values.delete(key);
      this.#texts.delete(key);
      this.#hasChanged = true;
    }
    this.#used = new Set();
  }

  toText(): string {
    const keys = new Set([...this.#texts.keys(), ...this.#values.keys()]);
    return [...keys]
      .flatMap((key) => [
        JSON.stringify(key),
        this.#texts.get(key) ?? toJson(this.#values.get(key)),
      ])
      .join("\n");
  }

  /** What was written by `toText`. */
  static from(text: string): CompilerMemory {
    const memory = new CompilerMemory();
    const lines = text.split("\n");
    for (let at = 0; at + 1 < lines.length; at += 2)
      // Written by `toText`.
      memory.#texts.set(JSON.parse(lines[at] ?? "") as string, lines[at + 1] ?? "");
    return memory;
  }
}
