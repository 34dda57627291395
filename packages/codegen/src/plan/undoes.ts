import type { z } from "zod";
import type { Undo, WrittenPlan } from "./schema.js";

type Json = z.core.util.JSONType;
type WrittenWorkflow = WrittenPlan["workflows"][number];
type WrittenNode = WrittenWorkflow["nodes"][number];
type WrittenStage = WrittenNode["stages"][number];

/** Those that were found before: a watching compiler looks at the same plan again and again. */
const found = new WeakMap<WrittenWorkflow, Undo[]>();

/**
 * The compensations of a workflow, each with all that is needed to run it when the workflow does not have it any more. Those whose source
 * is not closed are not among them.
 *
 * @param retry the app's, for workflows that say nothing of it
 */
export function undoesOf(workflow: WrittenWorkflow, retry?: Json): Undo[] {
  const before = found.get(workflow);
  if (before !== undefined) return before;
  const { compensations = [], nodes, file } = workflow;
  const stages = compensations.length === 0 ? [] : stagesIn(nodes);
  const undoes = compensations.flatMap((each): Undo[] => {
    const stage = stages.find(({ name }) => name === each.stage);
    if (stage === undefined || !("source" in each)) return [];
    const { name, kind, reads, reference, info } = stage;
    if (kind !== "action" && kind !== "mutation") return [];
    return [
      {
        stage: name,
        kind,
        reads,
        ...(reference === undefined ? {} : { reference }),
        ...(info === undefined ? {} : { info }),
        file,
        source: each.source,
        options: optionsOf(workflow, retry),
        nodes: outline(nodes, name.split(".")),
      },
    ];
  });
  found.set(workflow, undoes);
  return undoes;
}

function optionsOf({ options }: WrittenWorkflow, inherited?: Json): Record<string, Json> {
  const { retry = inherited, renamed } = options;
  return {
    ...(retry === undefined ? {} : { retry }),
    ...(renamed === undefined ? {} : { renamed }),
  };
}

export function stagesIn(nodes: readonly WrittenNode[]): WrittenStage[] {
  return nodes.flatMap(({ stages, bodies = [] }) => [
    ...stages,
    ...bodies.flatMap((body) => stagesIn(body.nodes)),
  ]);
}

/**
 * The nodes of a line as far as the run time must know them to find what a stage reads: those before it and the one it is of, or stands
 * in, with what is around it there. A sleep has no output; what is sensitive stays so.
 */
function outline(nodes: readonly WrittenNode[], [at = "", ...path]: readonly string[]): Outline {
  const end = nodes.findIndex(({ name }) => name === at);
  return Object.fromEntries(
    nodes.slice(0, end + 1).map((node) => [
      node.name,
      {
        ...(holds(node, "sleep") ? { duration: 0 } : {}),
        ...(isSensitive(node) ? { sensitive: true } : {}),
        ...(node.name === at ? inside(node, path) : {}),
      },
    ]),
  );
}

type Outline = Record<string, Json>;

function inside(node: WrittenNode, path: readonly string[]): Outline {
  const { bodies = [] } = node;
  if (!holds(node, "branch")) {
    const [body] = bodies;
    return body === undefined ? {} : { body: outline(body.nodes, path) };
  }
  const [key = "", ...rest] = path;
  const taken = bodies.find((body) => body.key === key);
  return taken === undefined ? {} : { cases: { [key]: outline(taken.nodes, rest) } };
}

const holds = ({ stages }: WrittenNode, kind: WrittenStage["kind"]): boolean =>
  stages.some((stage) => stage.kind === kind);

/** A branch or a loop is as secret as the node whose output it has. */
function isSensitive({ options, bodies = [] }: WrittenNode): boolean {
  return (
    options["sensitive"] === true ||
    bodies.some((body) => {
      const last = body.nodes.findLast((node) => !holds(node, "sleep"));
      return last !== undefined && isSensitive(last);
    })
  );
}
