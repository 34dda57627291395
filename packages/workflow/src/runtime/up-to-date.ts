import type { AnyDefinition } from "../definition/definition.js";

/**
 * Has code that was generated from another version of a definition fail where it is loaded: in a test, or when Convex looks at what is pushed.
 * It would pass by nodes that it does not know.
 * @param known the nodes of the top level that the generated code knows, in their order.
 * @throws where the definition has others, or in another order.
 */
export function checkUpToDate(
  workflow: string,
  definition: AnyDefinition,
  known: readonly string[],
): void {
  const nodes = Object.keys(definition.nodes);
  const difference = differenceOf(nodes, known);
  if (difference === undefined) return;
  throw new Error(
    `The generated code of workflow "${workflow}" is out of date: ${difference}. Run workflow-codegen`,
  );
}

function differenceOf(nodes: readonly string[], known: readonly string[]): string | undefined {
  const added = nodes.find((node) => !known.includes(node));
  if (added !== undefined) return `it does not know the node "${added}"`;
  const gone = known.find((node) => !nodes.includes(node));
  if (gone !== undefined) return `it has the node "${gone}", which the definition does not have`;
  const moved = nodes.find((node, index) => node !== known[index]);
  return moved === undefined ? undefined : `the node "${moved}" stands elsewhere in the definition`;
}
