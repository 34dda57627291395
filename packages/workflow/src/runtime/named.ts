import type { Read } from "../component/validators.js";
import type { Bound } from "./functions.js";
import { outputsIn } from "./nodes/kinds.js";
import { onceForEach } from "./once.js";
import { type Place, placeOf } from "./place.js";
import { presentKey, storageKey } from "./storage-names.js";

/* Where the value of each name is that a function reads of its scope. */

/** The names that a function reads of its scope; `*` for all of them. */
export type Reads = readonly string[];

/** A read that is in as many loops, of those around its stage. */
export type Placed = Omit<Read, "name"> & { readonly depth: number };
export type Named = Placed & Pick<Read, "name">;

type Of = Pick<Bound, "definition"> & Partial<Pick<Bound, "reads">>;

/** What the functions of a stage read, as the generated code says. */
export const usualNames = onceForEach((of: Of, stage) =>
  named(placeOf(of.definition, stage), of.reads?.get(stage) ?? []),
);

/**
 * A name is found in the sequence of the stage, else in those around it. What is not found, as it is
 * gone, is left out.
 */
export function named(place: Place, names: Reads): Named[] {
  const all = names.includes("*") ? everything(place) : names;
  return all.flatMap((name) => {
    const read = readNamed(place, name);
    return read === undefined ? [] : [{ name, ...read }];
  });
}

/** The `.each` whose item a stage sees. */
export const itemOf = ({ apart }: Place): Place["apart"][number] | undefined =>
  apart.findLast(({ is }) => is === "item");

function readNamed(place: Place, name: string): Placed | undefined {
  const { node, kind, path, part, parts, sequences, loops, apart } = place;
  /** Returns how many runs above its own something is. */
  const up = (level: number) => (level < apart.length ? { up: apart.length - level } : {});
  const own = (stage: string) => ({ stage, depth: loops.length });
  if (name === "input") return { stage: "input", depth: 0, ...up(0) };
  if (name === "each") {
    const item = itemOf(place);
    return item && { stage: "input", depth: 0, ...up(apart.indexOf(item) + 1) };
  }
  if (name === "error") return { stage: "", depth: 0, cause: true };
  if (name === "run") return kind.isAfterEnd ? { stage: "", depth: 0, ended: true } : undefined;
  if (name === "loop") {
    const loop = loops.at(-1);
    const undoing = part === "compensate" || undefined;
    if (loop === undefined) return undefined;
    // What a step has seen is kept where it ran.
    const where = undoing === true ? {} : up(loop.level);
    return { stage: loop.path, depth: loops.length - 1, loop: true, undoing, ...where };
  }
  if (name === "output") {
    if (part === "compensate") return own(path);
    return parts.includes("output") ? own(`${path}.output`) : undefined;
  }
  if (name === "children") {
    const tolerant = node?.tolerate !== undefined || node?.first === "any";
    const race = kind.isRace || undefined;
    return { ...own(path), children: true, tolerant: tolerant || undefined, race };
  }
  for (const { nodes, prefix, depth, level } of sequences.toReversed()) {
    const key = storageKey(nodes, name);
    if (key !== undefined) return { stage: prefix + key, depth, ...up(level) };
  }
  return undefined;
}

function everything(place: Place): string[] {
  const { kind, sees = [], sequences, loops } = place;
  if (kind.isAfterEnd) return ["input", ...sees];
  const before = sequences.flatMap(({ nodes, at }) =>
    outputsIn(nodes, at).map((key) => presentKey(nodes, key)),
  );
  const around = [...(loops.length > 0 ? ["loop"] : []), ...(itemOf(place) ? ["each"] : [])];
  return ["input", ...before, ...around, ...sees];
}
