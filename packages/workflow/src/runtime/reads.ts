import type { Read } from "../component/validators.js";
import type { AnyDefinition, CompiledNode } from "../definition/definition.js";
import type { Policy } from "../definition/node.js";
import { hasHandler, isTimedAsWhole, placeOf, type Place } from "./place.js";
import { presentKey, storageKey } from "./storage-names.js";

/** How a stage is run: as the options of its node say, but a finalize and a compensation have their own. */
export function policyOf(definition: AnyDefinition, stage: string): Policy {
  const { node, part } = placeOf(definition, stage);
  if (part === "finalize" || part === "compensate") return node?.[part] ?? {};
  return isTimedAsWhole(node) ? { ...node, timeout: undefined } : (node ?? {});
}

/** Whether what a stage reads and makes is to be kept from logs, views and scheduled arguments. */
export function isSensitive(definition: AnyDefinition, stage: string): boolean {
  return isSecret(placeOf(definition, stage).node);
}

/** A branch, a loop or a `.child` is as secret as the node whose output it has. */
function isSecret(node: CompiledNode): boolean {
  if (node === undefined || node.sensitive === true) return node !== undefined;
  const sequence = node.body ?? node.workflow?.nodes;
  const inside: Place["sequences"][number]["nodes"][] =
    sequence === undefined ? Object.values(node.cases ?? {}) : [sequence];
  return inside.some((nodes) => isSecret(Object.values(nodes).findLast((one) => !isSleep(one))));
}

/** What its record says of a stage, whatever comes of it. */
export interface Marks {
  called?: string;
  sensitive?: true;
  undoable?: true;
}

export function marksOf(definition: AnyDefinition, stage: string): Marks {
  const { node, part, called } = placeOf(definition, stage);
  return {
    ...(called === stage ? {} : { called }),
    ...(isSecret(node) ? { sensitive: true } : {}),
    ...(part === undefined && node?.compensate !== undefined ? { undoable: true } : {}),
  };
}

/**
 * Where the values are that a stage reads by name. A name is looked for in the sequence in which the stage stands, then in those around
 * it. Inside a parent `output` is what its handler made, absent without one, and `children` what its children did; for a compensation
 * `output` is what its step made, and `error` why the run is being undone; `loop` is the state of the innermost loop; and `*` is everything.
 * @param pass the passes of the loops around the stage, outermost first.
 */
export function readsOf(
  definition: AnyDefinition,
  stage: string,
  names: readonly string[],
  pass: readonly number[],
): Read[] {
  const place = placeOf(definition, stage);
  const all = names.includes("*") ? everything(place) : names;
  return all.flatMap((name) => {
    const read = readNamed(place, name, pass);
    if (read === undefined) return [];
    const sensitive = isSensitive(definition, stage) || isSensitive(definition, read.stage);
    return [{ ...read, ...(sensitive ? { sensitive } : {}) }];
  });
}

function readNamed(place: Place, name: string, pass: readonly number[]): Read | undefined {
  const { node, path, part, sequences, loops } = place;
  const within = (depth: number) => (depth === 0 ? {} : { pass: pass.slice(0, depth) });
  if (name === "input") return { name, stage: "input" };
  if (name === "error") return { name, stage: "", cause: true };
  if (name === "loop") {
    const loop = loops.at(-1);
    return loop === undefined
      ? undefined
      : {
          name,
          stage: loop,
          ...within(loops.length - 1),
          loop: true,
          ...(part === "compensate" ? { undoing: true } : {}),
        };
  }
  if (name === "output") {
    if (part === "compensate") return { name, stage: path, ...within(loops.length) };
    return hasHandler(node)
      ? { name, stage: `${path}.output`, ...within(loops.length) }
      : undefined;
  }
  if (name === "children") {
    const tolerant = node?.tolerate === undefined ? {} : { tolerant: true };
    return { name, stage: path, ...within(loops.length), children: true, ...tolerant };
  }
  for (const { nodes, prefix, depth } of sequences.toReversed()) {
    const key = storageKey(nodes, name);
    if (key !== undefined) return { name, stage: prefix + key, ...within(depth) };
  }
  return undefined;
}

function everything({ node, part, sequences, loops }: Place): string[] {
  const before = sequences.flatMap(({ nodes, at }) => {
    const keys = Object.keys(nodes);
    // A sleep has no output, so it is in no scope.
    const before = keys.slice(0, Math.max(0, keys.indexOf(at)));
    return before.filter((key) => !isSleep(nodes[key])).map((key) => presentKey(nodes, key));
  });
  const around = ["input", ...before, ...(loops.length > 0 ? ["loop"] : [])];
  if (part === "compensate") return [...around, "output", "error"];
  if (part === "finalize") return [...around, "output", "children"];
  return node?.children !== undefined && part === undefined ? [...around, "output"] : around;
}

function isSleep(node: CompiledNode): boolean {
  return node?.duration !== undefined;
}
