import { readFile } from "node:fs/promises";
import { Releases, type Files, type Version } from "../edits/releases.js";
import { generated } from "./generator.js";
import type { Workflows } from "./definition.js";

/** So many seeds are compiled and bundled together. */
const BATCH = 100;

/** A version of an app with random workflows, and these as they were defined. */
export interface Released {
  readonly version: Version;
  readonly workflows: Workflows;
}

/** The workflows of some seeds, compiled as they are asked for. */
export class RandomReleases {
  readonly #releases = new Releases();
  readonly #made = new Map<number, Promise<Released>>();

  /** @param more files of the app besides. */
  constructor(
    readonly seeds: readonly number[],
    readonly more: Files = {},
  ) {}

  /** The release that a seed's workflows are in. Takes real time. */
  async of(seed: number): Promise<Released> {
    const batch = Math.floor(this.seeds.indexOf(seed) / BATCH);
    const made =
      this.#made.get(batch) ?? this.#release(this.seeds.slice(batch * BATCH, (batch + 1) * BATCH));
    this.#made.set(batch, made);
    return await made;
  }

  async remove(): Promise<void> {
    await this.#releases.remove();
  }

  async #release(some: readonly number[]): Promise<Released> {
    const behaviour = await readFile(
      new URL("../differential/behaviour.ts", import.meta.url),
      "utf8",
    );
    const files: Files = Object.fromEntries([
      ["behaviour.ts", behaviour],
      ...Object.entries(this.more),
      ...some.map((seed) => generated(seed)).map(({ file, text }) => [file, text]),
    ]);
    const version = await this.#releases.release(files);
    const index = await version.modules["./convex/_workflows/index.js"]!();
    return { version, workflows: (index as { workflows: Workflows }).workflows };
  }
}

/** So many seeds from the first one, as `FUZZ_ROUNDS` and `FUZZ_SEED` say. */
export function seedsOf(rounds: number): number[] {
  const first = Number(process.env["FUZZ_SEED"] ?? 1);
  const count = Number(process.env["FUZZ_ROUNDS"] ?? rounds);
  return Array.from({ length: count }, (_, index) => first + index);
}
