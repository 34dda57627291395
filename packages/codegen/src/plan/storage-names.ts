import type { NodePlan, StagePlan, WorkflowPlan, WrittenPlan } from "./schema.js";
import { namesInPath } from "./constants.js";
import { membersOf, type Member, digestOf } from "./digest.js";
import { allNodes, functionsOfNode, generatedFunctions } from "./flow.js";
import { capitalized } from "./names.js";
import { hasKeys } from "./stage-kinds.js";
import { type FunctionsNeeded, neededByTombstones, takenFrom } from "./tombstones.js";
import { planHash } from "./write.js";
import { plansOf, storedAs, withStoredRuns } from "./workflow-names.js";

/* Results are stored under a node's first name. Only entries of `renamed` new to the plan count. */

export interface Earlier {
  /** What may be deployed. Default: what was written last. */
  readonly baseline?: WrittenPlan | undefined;
  /** What was written last; several after a merge conflict, or if more may be deployed. */
  readonly last: readonly WrittenPlan[];
  /** Says whether what is gone since then gets no tombstone. Default: false. */
  readonly drops?: boolean;
}

export function withStorageNames(workflows: readonly WorkflowPlan[], earlier: Earlier) {
  const plans = plansOf(earlier);
  const befores = plans.map((plan) => new Map(plan.workflows.map((each) => [each.name, each])));
  return withStoredRuns(workflows, earlier).map((workflow) => {
    const hash = planHash(workflow);
    // One that has not changed need not be read.
    if (befores.length > 0 && befores.every((before) => before.get(workflow.name)?.hash === hash))
      return workflow;
    const named = (needed?: FunctionsNeeded): WorkflowPlan => {
      const names = storageNames(workflow, plans, earlier.baseline !== undefined, needed);
      if (names.size === 0) return workflow;
      return { ...workflow, storageNames: names, nodes: under(names, workflow.nodes, "") };
    };
    const first = named();
    const needed = neededByTombstones(earlier, first);
    return takenFrom(needed, generatedFunctions(first)).length === 0 ? first : named(needed);
  });
}

function under(
  names: ReadonlyMap<string, string>,
  nodes: readonly NodePlan[],
  prefix: string,
): NodePlan[] {
  return nodes.map((node) => {
    const storage = names.get(node.path);
    const own = prefix + (storage ?? node.name);
    const bodies = node.bodies?.map((body) => {
      const isCase = hasKeys(node);
      const stored = isCase ? names.get(body.path) : undefined;
      const path = isCase ? `${own}.${stored ?? body.key}` : own;
      return { ...body, storage: stored, path, nodes: under(names, body.nodes, `${path}.`) };
    });
    const stages = node.stages.map((stage) => storedUnder(own, stage, node));
    return { ...node, storage, stages, bodies };
  });
}

const storedUnder = (own: string, stage: StagePlan, { path }: NodePlan): StagePlan => {
  return { ...stage, name: own + stage.name.slice(path.length) };
};

/** Nodes that stand side by side in an earlier version. */
interface OldLine {
  readonly members: readonly Member[];
  /** What the paths of its members began with, then and since: empty, `route.big.`. */
  readonly prefixes: readonly string[];
  /** The entries of `renamed` that the version did not have. */
  readonly renamed: ReadonlyMap<string, string>;
}

/** The storage names that are other names, by the paths of nodes and cases. */
function storageNames(
  workflow: WorkflowPlan,
  plans: readonly WrittenPlan[],
  hasBaseline: boolean,
  needed: FunctionsNeeded = new Map(),
): ReadonlyMap<string, string> {
  const { nodes, renamings } = workflow;
  const byPath = new Map(
    needed.size === 0 ? [] : allNodes(nodes).map((node) => [node.path, node] as const),
  );
  /** Says whether a node would have the function of a tombstone, at which a run may be. */
  const takesOne = (path: string, stored: string) => {
    const node = byPath.get(path);
    const stages = node?.stages.map((stage) => storedUnder(stored, stage, node)) ?? [];
    return node !== undefined && takenFrom(needed, functionsOfNode({ ...node, stages })).length > 0;
  };
  const own = storedAs(workflow);
  const names = new Map<string, string>();
  // What a branch has written of its own was never deployed: no result stands under its names.
  const isBranch = (plan: WrittenPlan) => hasBaseline && plan !== plans[0];
  const known = plans.map((plan) => [
    ...(isBranch(plan) ? [] : plan.workflows).flatMap((each) =>
      storedAs(each) === own ? digestOf(each).stored : [],
    ),
    ...(plan.removed ?? []).flatMap((each) => (each.workflow === own ? (each.nodes ?? []) : [])),
  ]);
  const deployed = known[0]?.map((each) => `${each.name}.`) ?? [];
  const isDeployed = (path: string) =>
    !hasBaseline || deployed.some((each) => each.startsWith(`${path}.`));
  // Two keys may give one storage name, and a run is in the case of the key that it had.
  const isOther = (path: string, { hash }: Member) => {
    const there = known.flat().filter((each) => each.name === path);
    return there.length > 0 && there.every((each) => each.hash !== hash);
  };
  const line = (
    members: readonly Member[],
    prefix: string,
    stored: string,
    olds: readonly OldLine[],
  ): void => {
    const byName = new Map(members.map((each) => [each.name, each]));
    const taken = new Map<string, Member>();
    const given = new Map<Member, string>();
    const give = (member: Member, storage: string) => {
      if (given.has(member) || taken.has(storage)) return;
      given.set(member, storage);
      taken.set(storage, member);
    };
    const follow = (old: OldLine, nameOf: (before: Member) => string | undefined) => {
      for (const before of old.members) {
        const name = nameOf(before);
        const member = name === undefined ? undefined : byName.get(name);
        if (member === undefined || !isSame(before, member)) continue;
        const isDefault = before.storage === member.name;
        if (isDefault || isDeployed(stored + before.storage)) give(member, before.storage);
      }
    };
    for (const old of olds) follow(old, (before) => newName(before, old, byName));
    // What was written last knows renames that the definition does not tell any more.
    for (const old of olds.toReversed()) follow(old, (before) => before.name);
    const spoken = members.filter(isSpoken).map((each) => each.name);
    for (const member of members) {
      if (given.has(member)) continue;
      const isOwn = isSpoken(member);
      const wanted = isOwn ? member.name : identifierOf(member.name);
      // Function names begin the storage name with a capital.
      const others = new Set((isOwn ? [] : [...spoken, ...taken.keys()]).map(capitalized));
      let storage = wanted;
      for (
        let again = 2;
        taken.has(storage) ||
        others.has(capitalized(storage)) ||
        isOther(stored + storage, member) ||
        takesOne(prefix + member.name, stored + storage);
        again++
      )
        storage = wanted + again;
      give(member, storage);
    }
    for (const member of members) {
      const [path, storage] = [prefix + member.name, given.get(member) ?? member.name];
      if (storage !== member.name) names.set(path, storage);
      if (member.inside.length === 0) continue;
      const inside = olds.map((old): OldLine => {
        const is = (each: Member) => each.storage === storage && isSame(each, member);
        const before = old.members.find(is);
        const called = before === undefined ? [] : namesOf(before, old);
        const paths = old.prefixes.flatMap((each) => called.map((one) => `${each}${one}.`));
        return { ...old, members: before?.inside ?? [], prefixes: [...paths, `${path}.`] };
      });
      line(member.inside, `${path}.`, `${stored}${storage}.`, inside);
    }
  };
  const tops = plans.map(({ workflows, removed = [] }): OldLine => {
    const old = workflows.find((each) => storedAs(each) === own);
    const before = new Map(Object.entries(Object(old?.options["renamed"])));
    const entries = renamings.filter(({ old, now }) => before.get(old) !== now);
    // Those that were gone before it was said that they have another name.
    const nodesGone = removed.find((each) => each.workflow === own)?.nodes ?? [];
    const gone = nodesGone.map(({ name: storage, hash }): Member => {
      return { name: storage, storage, kind: GONE, hash, inside: [] };
    });
    const members = membersOf(old?.nodes ?? []);
    return {
      members: hasBaseline ? members : [...members, ...gone],
      prefixes: [""],
      renamed: new Map(entries.map(({ old, now }) => [old, now])),
    };
  });
  line(membersOf(nodes), "", "", tops);
  return names;
}

/** Says whether a name can be stored as it is. The key of a case may be any text. */
export const isIdentifier = (name: string): boolean => /^[A-Za-z][A-Za-z0-9_]*$/.test(name);

/** A node is stored under its name. So is a case with a key that functions can be named after. */
const isSpoken = ({ name, kind }: Member): boolean =>
  isIdentifier(name) && (kind !== "case" || name.length <= LONGEST_KEY);

const LONGEST_KEY = 32;

/** A storage name for the key of a case: `in-progress` is `inProgress`, and `200` is `case200`. */
export function identifierOf(key: string): string {
  const [first = "", ...rest] = key.split(/[^A-Za-z0-9]+/).filter((word) => word !== "");
  const text = first.slice(0, 1).toLowerCase() + first.slice(1) + rest.map(capitalized).join("");
  // Short, as functions are named after it.
  return (/^[a-z]/.test(text) ? text : `case${text}`).slice(0, 24);
}

const GONE = "gone";

/** Says whether what is read as the result of one can be that of the other. */
const isSame = ({ kind, name }: Member, now: Member): boolean =>
  kind === now.kind || (kind === GONE && name !== now.name);

/** What a member was called then and since, by the entries of `renamed`; its present name last. */
function namesOf({ name: first }: Member, { members, prefixes, renamed }: OldLine): string[] {
  const names = [first];
  for (const name of names) {
    const [to] = prefixes.flatMap((prefix) => renamed.get(prefix + name) ?? []);
    const next = to === undefined ? undefined : namesInPath(to).at(-1);
    const stays = prefixes.some((prefix) => `${prefix}${next}` === to);
    if (next === undefined || !stays || names.includes(next)) break;
    names.push(next);
    // If there was a node of that name too, the next entry is about that one.
    if (members.some((each) => each.name === next)) break;
  }
  return names;
}

/** The new name of a member; undefined without one, or if it leads to one that still exists. */
function newName(member: Member, old: OldLine, now: ReadonlyMap<string, Member>) {
  const name = namesOf(member, old).at(-1);
  const there = old.members.find((each) => each.name === name);
  const isNone = now.has(member.name) && there !== undefined && namesOf(there, old).length === 1;
  return name === member.name || isNone ? undefined : name;
}
