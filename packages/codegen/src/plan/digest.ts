import { once } from "./once.js";
import { inPath } from "./constants.js";
import { hashOf } from "./hash-of.js";
import { allNodes } from "./flow.js";
import { withoutOnEnd } from "./on-end.js";
import type { StagePlan, WrittenPlan } from "./schema.js";
import { hasCases, hasKeys, stageKind, startsOne } from "./stage-kinds.js";

type Written = WrittenPlan["workflows"][number]["nodes"][number];

/** A node, or a case of a branch, which has the hash of its key. */
export interface Member {
  readonly name: string;
  readonly storage: string;
  readonly kind: string;
  readonly hash: string;
  readonly inside: readonly Member[];
}

export const membersOf = (nodes: readonly Written[]): Member[] =>
  withoutOnEnd(nodes).map((node) => {
    const { name, storage = name, kind, hash, bodies = [] } = node;
    const cases = bodies.map(({ key, storage: stored = key, nodes: within }) => {
      const its = { name: inPath(key), storage: stored, kind: "case", hash: hashOf(key) };
      return { ...its, inside: membersOf(within) };
    });
    const inside = hasKeys(node) ? cases : cases.flatMap((body) => body.inside);
    // A branch may become a match: it has the same records.
    return { name, storage, kind: hasCases(node) ? "branch" : kind, hash, inside };
  });

/** What results may stand under, by its path of storage names: a node, or a case. */
export interface StoredNode {
  readonly name: string;
  readonly hash: string;
}

export function storedNodes(nodes: readonly Written[]): StoredNode[] {
  const all = (members: readonly Member[], prefix: string): StoredNode[] =>
    members.flatMap(({ storage, hash, inside }) => [
      { name: prefix + storage, hash },
      ...all(inside, `${prefix}${storage}.`),
    ]);
  return all(membersOf(nodes), "");
}

interface Nodes {
  readonly nodes: readonly Written[];
  readonly one?: { readonly otherwise?: string | undefined } | undefined;
}

/** What is asked of every workflow of an app, also of those that have not changed. */
export interface Digest {
  readonly nodes: number;
  readonly actions: readonly string[];
  readonly stored: readonly StoredNode[];
  readonly startsChild: boolean;
  /** Its runs may wait for another of their key. */
  readonly waitsForTurn: boolean;
}

/** What a `one` does otherwise so that a run is never held up by those that go on. */
const neverWaits = ["skip", "cancelOld"];

type Stage = Written["stages"][number] & Pick<StagePlan, "startsAlways">;
const startsSome = ({ startsAlways = [] }: Stage): boolean => startsAlways.length > 0;

export const digestOf = once((workflow: Nodes): Digest => {
  const nodes = allNodes(workflow.nodes);
  const stages = nodes.flatMap((node) => node.stages);
  return {
    nodes: allNodes(withoutOnEnd(workflow.nodes)).length,
    actions: stages.filter(({ kind }) => stageKind(kind).goes === "queued").map(({ name }) => name),
    stored: storedNodes(workflow.nodes),
    startsChild: nodes.some(startsOne) || stages.some(startsSome),
    waitsForTurn: workflow.one !== undefined && !neverWaits.includes(workflow.one.otherwise ?? ""),
  };
});

/** A workflow with some `known` fields; `load` gives the others when one of them is read. */
export function lazyWorkflow<Workflow extends Nodes>(
  known: Partial<Workflow>,
  fields: readonly string[],
  digest: Digest,
  load: () => Workflow,
): Workflow {
  // Each of the fields is either known or a getter.
  const workflow = {} as Workflow;
  for (const name of fields as readonly (keyof Workflow)[])
    if (name in known) workflow[name] = known[name] as Workflow[typeof name];
    else Object.defineProperty(workflow, name, loading(name));
  loads.set(workflow, load);
  digestOf.keep(workflow, digest);
  return workflow;
}

const loads = new WeakMap<object, () => object>();
const getters = new Map<PropertyKey, PropertyDescriptor>();

/** One getter of that name for all workflows: V8 then gives them one shape, which is fast. */
function loading(name: PropertyKey): PropertyDescriptor {
  const before = getters.get(name);
  if (before !== undefined) return before;
  const get = function (this: object): unknown {
    const whole = loads.get(this)?.();
    return whole && Reflect.get(whole, name);
  };
  const made = { enumerable: true, get };
  getters.set(name, made);
  return made;
}
