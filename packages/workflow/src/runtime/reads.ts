import type { Read } from "../component/validators.js";
import { Failure } from "../errors/failure.js";
import { fromPagesIn } from "../values.js";
import type { Bound } from "./functions.js";
import { outputsIn } from "./nodes/kinds.js";
import { onceForEach } from "./once.js";
import { type Place, placeOf, presentKey, storageKey } from "./place.js";
import {
  hasSecretChildren,
  hasSecretOutput,
  isMarked,
  isSecret,
  sensitivePaths,
} from "./secrets.js";

/** The names that a function reads of its scope; `*` for all of them. */
export type Reads = readonly string[];

type Of = Pick<Bound, "definition" | "reads" | "starts">;

/** How messages call a stage, and what the component records of it. */
export const marksOf = onceForEach((own: Of, stage) => {
  const { node, path, part, parts, called } = placeOf(own.definition, stage);
  const undoable = part === "" && parts.includes("compensate");
  return {
    called: called === stage ? undefined : called,
    part: part || undefined,
    sensitive: (part === "" ? isSecret(own, path, node) : isMarked(own, node)) || undefined,
    undoable: undoable || undefined,
  };
});

/** A read that is in as many loops, of those around its stage. */
type Placed = Omit<Read, "name"> & { readonly depth: number };
type Named = Placed & Pick<Read, "name">;

const usualReads = onceForEach((own: Of, stage) => found(own, stage, own.reads.get(stage) ?? []));

function found(own: Of, stage: string, names: Reads): Named[] {
  const place = placeOf(own.definition, stage);
  const all = names.includes("*") ? everything(place) : names;
  return all.flatMap((name) => {
    const read = readNamed(place, name);
    if (read === undefined) return [];
    const sensitive = isMarked(own, place.node) || isSecretRead(own, read, place, name);
    return [{ name, ...read, sensitive: sensitive || undefined }];
  });
}

/**
 * Returns where the values are that a stage reads. A name is found in the sequence of the stage,
 * else in those around it.
 * @param iterations the iterations of the loops around the stage, outermost first.
 */
export function readsOf(
  own: Of,
  stage: string,
  iterations: readonly number[] = [],
  names?: Reads,
): Read[] {
  const reads = names === undefined ? usualReads(own, stage) : found(own, stage, names);
  return reads.map(({ depth, ...read }) =>
    depth === 0 ? read : { ...read, iterations: iterations.slice(0, depth) },
  );
}

/** The names of what is sensitive that a function reads, of these: it may not tell them. */
export function secretNames(own: Bound, stage: string, names: Reads): ReadonlySet<string> {
  const place = placeOf(own.definition, stage);
  const all = names.includes("*") ? everything(place) : names;
  const secret = all.filter((name) => {
    const read = readNamed(place, name);
    return read !== undefined && isSecretRead(own, read, place, name);
  });
  return new Set(secret);
}

function isSecretRead(
  own: Of,
  { stage, children, loop, ended }: Placed,
  place: Place,
  name: string,
): boolean {
  if (ended === true) return hasSecretOutput(own);
  // An item is made of what `of` reads.
  if (name === "each") return isItemSecret(own, itemOf(place)?.of);
  if (stage === "input") return sensitivePaths(own.definition.options).length > 0;
  const { node, path, part } = placeOf(own.definition, stage);
  if (part !== "") return isMarked(own, node);
  if (children === true) return isMarked(own, node) || hasSecretChildren(own, path);
  // The first state of a loop is made of what `initial` reads.
  const initial = loop === true ? readsOf(own, stage) : [];
  return isSecret(own, path, node) || initial.some(({ sensitive }) => sensitive === true);
}

/** The `.each` whose item a stage sees. */
const itemOf = ({ apart }: Place) => apart.findLast(({ is }) => is === "item");

export const isItemSecret = (own: Of, each = ""): boolean =>
  readsOf(own, each).some(({ sensitive }) => sensitive === true);

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

/**
 * A scope as a function of the definition sees it. Reading a name that was not loaded throws: the
 * generated code is out of date, or the compiler missed how the function reads it.
 * @param name the function, as messages call it. @param reads the names that were loaded.
 */
export function readableScope(
  own: Bound,
  stage: string,
  name: string,
  values: unknown,
  reads = own.reads.get(stage) ?? [],
): never {
  // What a function reads was checked where it was written.
  const scope = fromPagesIn(values) as never;
  if (reads.includes("*")) return scope;
  const visible = () => readsOf(own, stage, [], ["*"]).map((read) => read.name);
  const check = (key: string | symbol): void => {
    if (typeof key !== "string" || reads.includes(key) || !visible().includes(key)) return;
    const { workflow } = own;
    const { called, loops } = placeOf(own.definition, stage);
    // It is seen from inside its loop.
    const loop = name === "until" ? loops.at(-1) : undefined;
    throw new Failure(
      "nonRetryable",
      `The ${name} of "${loop === undefined ? called : placeOf(own.definition, loop.path).called}" in workflow "${workflow}" reads "${key}", which the generated code does not load. Run workflow-codegen. If that changes nothing, name it in the parameters: ({ ${key} }) => …`,
    );
  };
  return new Proxy(scope, {
    get(target, key) {
      check(key);
      return Reflect.get(target, key) as unknown;
    },
    has(target, key) {
      check(key);
      return Reflect.has(target, key);
    },
    getOwnPropertyDescriptor(target, key) {
      check(key);
      return Reflect.getOwnPropertyDescriptor(target, key);
    },
    ownKeys(target) {
      visible().forEach(check);
      return Reflect.ownKeys(target);
    },
  });
}
