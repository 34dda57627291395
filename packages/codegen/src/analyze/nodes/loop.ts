import type { BodyPlan } from "../../plan/schema.js";
import type { Option } from "../functions.js";
import { scopeReads } from "../handlers.js";
import { fileOf, policyOf } from "../options.js";
import { chainOf } from "./chain.js";
import { ofNode, sourceWithout, stagePlan } from "./node-kind.js";
import type { Named, NodeContext, NodeKind, Surroundings } from "./node-kind.js";

const order = [["state"], ["initial"], ["body"], ["until"]];
const planned = ["maxIterations", "timeout"];

/** `.loop(name, { state?, initial, body, until, … })`: one stage, and those of its body. */
export const loop: NodeKind = {
  known: [...order.flat(), ...planned],
  order,
  planned,
  needed: {
    initial: "(scope) => …",
    body: "(b) => b.step(…)",
    until: "({ loop }) => loop.state.done",
    maxIterations: "100",
  },
  parts({ named, options, context }) {
    const { file, scope: visible } = context;
    const { at } = named;
    const [state, initial, body, end] = order.flat().map((name) => options.get(name));
    // The loop's own state stands in the place of that of a loop around it.
    const within = [...visible.filter((name) => name !== "loop"), "loop"];
    const isOpen = options.rest !== undefined;
    const reads = initial || isOpen ? scopeReads(initial, file) : undefined;
    const ends = end || isOpen ? scopeReads(end, file) : undefined;
    const policy = policyOf(options, file);
    const until = ends && { reads: ends, visible: within };
    const stage =
      reads &&
      until &&
      stagePlan(ofNode(named), { kind: "loop", reads, policy, at }, { visible, until }, file);
    return {
      stages: [stage],
      bodies: readBody(body, named, { scope: within, end: "the end of the iteration" }, context),
      schemas: state && new Map([["state", state.value]]),
      source: sourceWithout(options, "body"),
    };
  },
};

/** What the nodes inside another one hang on. */
interface Inside extends Omit<Surroundings, "prefix"> {
  /** The key of the case; `body` of a loop. */
  readonly key: string;
  /** What the names of its stages begin with, but for the dot. */
  readonly path: string;
  readonly label: string;
  readonly end: string;
}

/** The one body of a loop or an each, if it has one. */
export const readBody = (
  option: Option | undefined,
  { path, code: around, label }: Named,
  own: Pick<Inside, "scope" | "end">,
  context: NodeContext,
): BodyPlan[] => {
  const code = [...around, "body"];
  const inside = { ...own, key: "body", path, code, label: `the body of ${label}` };
  return option === undefined ? [] : [bodyPlan(option, inside, context)];
};

/** Reads a case of a branch, or a loop's body: a function from a builder to a chain of nodes. */
export function bodyPlan(option: Option, inside: Inside, context: NodeContext): BodyPlan {
  const { key, path, label, end, code, scope } = inside;
  const calls = chainOf(option.value, label, fileOf(option, context.file));
  const inner = { prefix: `${path}.`, code, scope };
  const read = context.readNodes(calls ?? [], inner);
  return {
    key,
    nodes: read.nodes,
    path,
    label,
    end,
    place: fileOf(option, context.file).placeOf(option.nameNode),
    visible: scope,
    hasUnreadNodes: calls === undefined || read.hasUnreadNodes,
    hasUnknownNames: calls === undefined || read.hasUnknownNames,
  };
}
