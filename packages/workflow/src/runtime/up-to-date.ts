import type { AnyDefinition, CompiledNode } from "../definition/definition.js";
import { hasHandler } from "./place.js";

/**
 * Has code that was generated from another version of a definition fail where it is loaded: in a test, or when Convex looks at what is pushed.
 * It would pass by nodes that it does not know, so none can be added after that either.
 * @param known the stages that the generated code knows, in their order.
 * @throws where the definition has others, or in another order.
 */
export function checkUpToDate(
  workflow: string,
  definition: AnyDefinition,
  known: readonly string[],
): void {
  const stages = stagesIn(definition.nodes);
  const difference = differenceOf(stages, known);
  if (difference === undefined) return void Object.freeze(definition.nodes);
  throw new Error(
    `The generated code of workflow "${workflow}" is out of date: ${difference}. Run workflow-codegen`,
  );
}

/** The stages of a line of nodes, those of the nodes inside a node after its own. */
function stagesIn(nodes: Readonly<Record<string, CompiledNode>>, prefix = ""): string[] {
  return Object.entries(nodes).flatMap(([name, node]) => {
    const path = prefix + name;
    const part = (of: string, is: boolean) => (is ? [`${path}.${of}`] : []);
    return [
      ...part("output", node.children !== undefined && hasHandler(node)),
      path,
      ...part("finalize", node.finalize !== undefined),
      ...part("compensate", node.compensate !== undefined),
      ...stagesIn(node.body ?? {}, `${path}.`),
      ...Object.entries<CompiledNode>(node.cases ?? {}).flatMap(([key, inside]) =>
        stagesIn(inside, `${path}.${key}.`),
      ),
    ];
  });
}

function differenceOf(stages: readonly string[], known: readonly string[]): string | undefined {
  const added = stages.find((stage) => !known.includes(stage));
  if (added !== undefined) return `it does not know "${added}"`;
  const gone = known.find((stage) => !stages.includes(stage));
  if (gone !== undefined) return `it has "${gone}", which the definition does not have`;
  const moved = stages.find((stage, index) => stage !== known[index]);
  return moved === undefined ? undefined : `"${moved}" stands elsewhere in the definition`;
}
