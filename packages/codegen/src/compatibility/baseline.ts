import { posix } from "node:path";
import { Repository } from "../git/repository.js";
import { isPlanFile } from "../plan/paths.js";
import { joinedPlan, PlanOutdated, readPlanFile } from "../plan/read.js";
import type { WrittenPlan } from "../plan/schema.js";

/** What a new plan is compared with: what may be deployed. */
export interface Baseline {
  /** Undefined when none is known: then it is compared with what was generated last. */
  readonly plan?: WrittenPlan;
  /** Where it is from, to be shown: `origin/main (1f2e3d4)`. */
  readonly from: string;
  /** What to do, when none was found. */
  readonly hint?: string;
}

/** The baseline for some workflows, by the hashes of their plans. */
export type ChooseBaseline = (hashes: ReadonlyMap<string, string>) => Baseline;

/** Names of main branches, as the remote has them first: that is what others deploy. */
const mains = ["origin/main", "origin/master", "main", "master"];

/** Where a baseline is from when git is not there, or knows of no repository. */
export const noRepository = "what was generated last, as there is no git repository";

const give = "give what is deployed: `--against <git ref or plan>`";

/**
 * The main branch's plan: on another branch where that branched off, on the main branch itself the pushed one, or else that of the commit before.
 *
 * @throws PlanUnreadable when it is there and cannot be read
 * @throws GitFailed
 */
export function mainBaseline(functionsDir: string): ChooseBaseline {
  const repository = Repository.around(functionsDir);
  if (repository === undefined) return () => ({ from: noRepository, hint: give });
  const head = repository.commit("HEAD");
  const named = [repository.mainOfRemote(), ...mains].find(
    (name) => name !== undefined && repository.commit(name) !== undefined,
  );
  const main = named && repository.commit(named);
  if (named === undefined || main === undefined || head === undefined) {
    const from = "what was generated last, as there is no main branch here";
    return () => ({
      from,
      hint: `fetch it, as in \`git fetch origin main:refs/remotes/origin/main\`, or ${give}`,
    });
  }
  const base = repository.mergeBase(head, main) ?? main;
  const branch = repository.branch();
  const isMain = branch === undefined || branch === named.replace(/^origin\//, "");
  if (base !== head || !isMain) return once(() => mainAt(repository, base, named));
  // On the main branch itself. Once what is there now is committed, the commit before is what is deployed.
  const committed = once(() => mainAt(repository, head, "HEAD"));
  const earlier = once(() => {
    const before = repository.commit("HEAD~1");
    if (before !== undefined) return mainAt(repository, before, "the commit before, HEAD~1");
    const hint = `if this is a shallow clone, fetch one commit more (\`fetch-depth: 2\`), or ${give}`;
    return { ...committed(), from: "HEAD, as there is no commit before it here", hint };
  });
  return (hashes) => (isSame(committed(), hashes) ? earlier() : committed());
}

/**
 * The baseline in a commit.
 *
 * @returns undefined when there is no commit of that name
 */
export function baselineIn(functionsDir: string, ref: string): Baseline | undefined {
  const repository = Repository.around(functionsDir);
  const commit = repository?.commit(ref);
  if (repository === undefined || commit === undefined) return undefined;
  return baselineAt(repository, commit, ref);
}

/** The same; a plan that an earlier compiler wrote tells this one nothing. */
function mainAt(repository: Repository, commit: string, name: string): Baseline {
  try {
    return baselineAt(repository, commit, name);
  } catch (error) {
    if (!(error instanceof PlanOutdated)) throw error;
    const from = `what was generated last, as an earlier version of workflow-codegen wrote the plan of ${name}`;
    return { from, hint: give };
  }
}

function baselineAt(repository: Repository, commit: string, name: string): Baseline {
  const from = `${name} (${commit.slice(0, 7)})`;
  // Where generated code stood then is told by where the plan is.
  const files = repository.files(commit).filter(isPlanFile);
  const texts = repository.read(commit, files);
  const isOurs = /^\s*\{\s*"generatedBy":\s*"workflow-codegen"/;
  const app = files.find(
    (file) => posix.basename(file) === "plan.json" && isOurs.test(texts.get(file) ?? ""),
  );
  if (app !== undefined) {
    const parts = [...texts]
      .filter(([file]) => posix.dirname(file) === posix.dirname(app))
      .map(([file, text]) => readPlanFile(text, file, `${file} of ${from}`));
    return { plan: joinedPlan(parts), from };
  }
  return { plan: joinedPlan([]), from: `${from}, which has no workflows yet` };
}

function isSame({ plan }: Baseline, hashes: ReadonlyMap<string, string>): boolean {
  if (plan === undefined) return false;
  const then = plan.workflows;
  return then.length === hashes.size && then.every(({ name, hash }) => hashes.get(name) === hash);
}

function once<Made>(make: () => Made): () => Made {
  let made: { readonly value: Made } | undefined;
  return () => (made ??= { value: make() }).value;
}
