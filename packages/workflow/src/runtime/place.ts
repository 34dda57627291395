import type { AnyDefinition, CompiledNode } from "../definition/definition.js";
import { presentKey } from "./storage-names.js";

type Nodes = Readonly<Record<string, CompiledNode>>;

/** What a stage is of its node: the node itself, or a part of it. */
export type Part = "output" | "finalize" | "compensate" | undefined;

/** A sequence of nodes around a stage: the workflow's, a case's, or a loop's body. */
interface Sequence {
  /** What the paths of its nodes begin with: empty, `route.big.`, `agent.`. */
  readonly prefix: string;
  readonly nodes: Nodes;
  /** The node of it that the stage is, or stands in. */
  readonly at: string;
  /** How many loops are around it. */
  readonly depth: number;
}

/** Where a stage stands in its definition. */
export interface Place {
  /** As the definition holds it; undefined where it has no such node (any more). */
  readonly node: CompiledNode;
  readonly path: string;
  /** What the stage is called, by the names that the nodes have in the definition. */
  readonly called: string;
  readonly part: Part;
  /** Outermost first; never empty. */
  readonly sequences: readonly Sequence[];
  /** The paths of the loops around it, outermost first. */
  readonly loops: readonly string[];
}

/** Finds a stage by its storage name, such as `save`, `chapters.finalize`, `route.big.x` or `agent.think.compensate`. */
export function placeOf(definition: AnyDefinition, stage: string): Place {
  const names = stage.split(".");
  const sequences: Sequence[] = [];
  const loops: string[] = [];
  let nodes = definition.nodes as Nodes;
  let prefix = "";
  let called = "";
  for (;;) {
    const at = names.shift() ?? "";
    const node = Object.hasOwn(nodes, at) ? nodes[at] : undefined;
    const path = prefix + at;
    called += presentKey(nodes, at);
    sequences.push({ prefix, nodes, at, depth: loops.length });
    const part = names[0];
    if (isCase(node, part)) {
      nodes = node.cases[part];
      prefix = `${path}.${part}.`;
      called += `.${presentKey(node.cases, part)}.`;
      names.shift();
    } else if (isBody(node, part)) {
      nodes = node.body;
      prefix = `${path}.`;
      called += ".";
      loops.push(path);
    } else {
      const whole = [called, ...names].join(".");
      return { node, path, called: whole, part: part as Part, sequences, loops };
    }
  }
}

function isCase(node: CompiledNode, key: string | undefined): key is string {
  return key !== undefined && node?.cases !== undefined && Object.hasOwn(node.cases, key);
}

function isBody(node: CompiledNode, name: string | undefined): name is string {
  return name !== undefined && node?.body !== undefined;
}

/** The name of the node of the top level that a stage belongs to: `route.big.x` → `route`. */
export function topLevelOf(stage: string): string {
  return stage.split(".")[0] ?? stage;
}

/** The stage under which a stage's output is kept and read: that of a parent's finalize is the parent's. */
export function recordOf(stage: string): string {
  return stage.replace(/\.finalize$/, "");
}

/** The stage that a node begins with: a parent with a handler begins with that. */
export function firstStageOf(definition: AnyDefinition, path: string): string {
  const { node } = placeOf(definition, path);
  return node?.children !== undefined && hasHandler(node) ? `${path}.output` : path;
}

/** Whether the `timeout` of a node is that of all its stages together, which the component watches. */
export function isTimedAsWhole(node: CompiledNode): boolean {
  return node?.children !== undefined || node?.body !== undefined;
}

export function hasHandler(node: CompiledNode): boolean {
  return [node?.action, node?.mutation, node?.query].some((handler) => handler !== undefined);
}
