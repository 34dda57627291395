import type { Read } from "../component/validators.js";
import type { AnyDefinition, CompiledNode } from "../definition/definition.js";
import type { Policy } from "../definition/node.js";

/** The name of the node that a stage belongs to: `chapters.finalize` → `chapters`. */
export function nodeOf(stage: string): string {
  return stage.split(".")[0] ?? stage;
}

/** The stage under which a stage's output is kept and read: that of a parent's finalize is the parent's. */
export function recordOf(stage: string): string {
  return stage.replace(/\.finalize$/, "");
}

/** The options of a stage: those of its node, but a parent's finalize has its own. */
export function policyOf(definition: AnyDefinition, stage: string): Policy {
  const node = nodeNamed(definition, nodeOf(stage));
  return (stage.endsWith(".finalize") ? node?.finalize : node) ?? {};
}

export function nodeNamed(definition: AnyDefinition, name: string): CompiledNode {
  return (definition.nodes as Readonly<Record<string, CompiledNode>>)[name];
}

/**
 * Where the values are that a stage reads by name. Inside a parent, `output` is what its handler made, absent without one, and
 * `children` what its children did; `*` is everything that came before.
 */
export function readsOf(
  definition: AnyDefinition,
  stage: string,
  names: readonly string[],
): Read[] {
  const node = nodeOf(stage);
  const all = names.includes("*") ? everything(definition, stage) : names;
  const hasOutput = hasHandler(nodeNamed(definition, node));
  const present = all.filter((name) => name !== "output" || hasOutput);
  return present.map((name) => {
    if (name === "output") return { name, stage: `${node}.output` };
    if (name === "children") return { name, stage: node, children: true };
    return { name, stage: name };
  });
}

function everything(definition: AnyDefinition, stage: string): string[] {
  const node = nodeOf(stage);
  const nodes = Object.keys(definition.nodes);
  const before = ["input", ...nodes.slice(0, nodes.indexOf(node))];
  if (stage.endsWith(".finalize")) return [...before, "output", "children"];
  const isParent = nodeNamed(definition, node)?.children !== undefined;
  return isParent && stage === node ? [...before, "output"] : before;
}

function hasHandler(node: CompiledNode): boolean {
  return [node?.action, node?.mutation, node?.query].some((handler) => handler !== undefined);
}
