import { posix } from "node:path";
import { refsState } from "../git/refs.js";
import { Repository } from "../git/repository.js";
import { isPlanFile } from "../plan/paths.js";
import {
  joinedPlan,
  partOnce,
  PlanOutdated,
  type PlanPart,
  type ReadBefore,
} from "../plan/parts.js";
import type { WrittenPlan } from "../plan/schema.js";

/** What a new plan is compared with: what may be deployed. */
export interface Baseline {
  /** Undefined when none is known: then it is compared with what was generated last. */
  readonly plan?: WrittenPlan;
  /** Where it is from, to be shown: `origin/main (1f2e3d4)`. */
  readonly from: string;
  readonly hint?: string;
  /** Set if nothing tells what is deployed: whether that is because the clone is shallow. */
  readonly missing?: { readonly isShallow: boolean };
}

/** Chooses a baseline; `hashesAfter` gives the workflows' hashes as they would be after a plan. */
export type ChooseBaseline = (
  hashesAfter: (plan: WrittenPlan) => ReadonlyMap<string, string>,
  before: ReadBefore,
) => Baseline | Promise<Baseline>;

/** Names of main branches, as the remote has them first: that is what others deploy. */
const mains = ["origin/main", "origin/master", "main", "master"];

export const noRepository = "what was generated last, as there is no git repository";

const give = "give what is deployed: `--against <git ref or plan>`";

interface Named {
  readonly commit: string;
  readonly name: string;
}

interface History {
  readonly state: string;
  readonly prefix: string;
  readonly isShallow: boolean;
  readonly base?: Named;
  /** On the main branch itself: the commit before, deployed once this one is; null without one. */
  readonly earlier?: Named | null;
}

/** The main branch's plan where this branch left it; on main the pushed one or HEAD~1. */
export function mainBaseline(functionsDir: string): ChooseBaseline {
  let known: ChooseBaseline | undefined;
  return (hashesAfter, before) => (known ??= choosing(functionsDir, before))(hashesAfter, before);
}

function choosing(functionsDir: string, before: ReadBefore): ChooseBaseline {
  const history = historyOf(functionsDir, before);
  if (history === undefined)
    return () => ({ from: noRepository, hint: give, missing: { isShallow: false } });
  const { prefix, base, earlier, isShallow } = history;
  const missing = { isShallow };
  if (base === undefined)
    return () => ({
      missing,
      from: "what was generated last, as there is no main branch here",
      hint: `fetch it, as in \`git fetch origin main:refs/remotes/origin/main\`, or ${give}`,
    });
  const repository = new Repository(functionsDir, prefix);
  const first = once(() => mainAt(repository, base, before));
  if (earlier === undefined) return first;
  const second = once(async () => {
    if (earlier !== null) return await mainAt(repository, earlier, before);
    const hint = `fetch one commit more (\`fetch-depth: 2\`), or ${give}`;
    const baseline = { ...(await first()), from: "HEAD, as there is no commit before it here" };
    // The first commit of a project has none before it.
    return isShallow ? { ...baseline, hint, missing } : baseline;
  });
  return async (hashesAfter) => (isSame(await first(), hashesAfter) ? second() : first());
}

/** Undefined when there is no repository. It is asked only when a commit or a branch has moved. */
function historyOf(functionsDir: string, before: ReadBefore): History | undefined {
  const state = refsState(functionsDir);
  if (state === "") return undefined;
  // Nothing else is set under such a key.
  const known = before.get("history") as History | undefined;
  if (known?.state === state) return known;
  const repository = Repository.around(functionsDir);
  if (repository === undefined) return undefined;
  const isShallow = repository.isShallow();
  const history = { state, prefix: repository.prefix, isShallow, ...placeIn(repository) };
  before.set("history", history);
  return history;
}

function placeIn(repository: Repository): Pick<History, "base" | "earlier"> {
  const head = repository.commit("HEAD");
  const isThere = (name: string | undefined) => name && repository.commit(name) !== undefined;
  const named = [repository.mainOfRemote(), ...mains].find(isThere);
  const main = named && repository.commit(named);
  if (named === undefined || main === undefined || head === undefined) return {};
  const base = repository.mergeBase(head, main) ?? main;
  const branch = repository.branch();
  const isMain = branch === undefined || branch === named.replace(/^origin\//, "");
  if (base !== head || !isMain) return { base: { commit: base, name: named } };
  const commit = repository.commit("HEAD~1");
  return {
    base: { commit: head, name: "HEAD" },
    earlier: commit === undefined ? null : { commit, name: "the commit before, HEAD~1" },
  };
}

export async function baselineIn(functionsDir: string, ref: string): Promise<Baseline | undefined> {
  const repository = Repository.around(functionsDir);
  const commit = repository?.commit(ref);
  if (repository === undefined || commit === undefined) return undefined;
  return await baselineAt(repository, { commit, name: ref }, new Map<string, unknown>());
}

/** The same; a plan that an earlier compiler wrote tells this one nothing. */
async function mainAt(repository: Repository, named: Named, before: ReadBefore): Promise<Baseline> {
  try {
    return await baselineAt(repository, named, before);
  } catch (error) {
    if (!(error instanceof PlanOutdated)) throw error;
    const from = `what was generated last, as an earlier version of workflow-codegen wrote the plan of ${named.name}`;
    return { from, hint: give };
  }
}

async function baselineAt(
  repository: Repository,
  named: Named,
  before: ReadBefore,
): Promise<Baseline> {
  const from = `${named.name} (${named.commit.slice(0, 7)})`;
  const key = `tree ${repository.prefix} ${named.commit}`;
  // Nothing else is set under such a key.
  const known = before.get(key) as Tree | undefined;
  const tree = known ?? treeAt(repository, named.commit);
  if (known === undefined) before.set(key, tree);
  const texts = new Map<string, string>();
  const text = (id: string): string => {
    // One may be all that is asked for; more are read by one git process instead of hundreds.
    const wanted = texts.size === 0 ? [id] : tree.map(([, each]) => each);
    if (!texts.has(id)) for (const [each, found] of repository.read(wanted)) texts.set(each, found);
    return texts.get(id) ?? "";
  };
  const parts: PlanPart[] = [];
  for (const [path, id] of tree)
    parts.push(await partOnce(before, { path, id, of: `${path} of ${from}` }, () => text(id)));
  const more = parts.length === 0 ? ", which has no workflows yet" : "";
  return { plan: joinedPlan(parts), from: from + more };
}

/** The files of a plan in a commit, and what tells the text of each from any other. */
type Tree = readonly (readonly [path: string, id: string])[];

function treeAt(repository: Repository, commit: string): Tree {
  // Where generated code stood then is told by where the plan is.
  const files = repository.files(commit).filter(([path]) => isPlanFile(path));
  const apps = files.filter(([path]) => posix.basename(path) === "plan.json");
  const texts = repository.read(apps.map(([, id]) => id));
  const isOurs = /^\s*\{\s*"generatedBy":\s*"workflow-codegen"/;
  const app = apps.find(([, id]) => isOurs.test(texts.get(id) ?? ""));
  if (app === undefined) return [];
  return files.filter(([path]) => posix.dirname(path) === posix.dirname(app[0]));
}

function isSame({ plan }: Baseline, hashesAfter: Parameters<ChooseBaseline>[0]): boolean {
  if (plan === undefined) return false;
  const hashes = hashesAfter(plan);
  const then = plan.workflows;
  return then.length === hashes.size && then.every(({ name, hash }) => hashes.get(name) === hash);
}

function once<Made>(make: () => Made): () => Made {
  let made: { readonly value: Made } | undefined;
  return () => (made ??= { value: make() }).value;
}
