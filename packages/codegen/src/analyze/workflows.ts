import { nearest } from "../diagnostics/nearest.js";
import { withoutEnding } from "../plan/paths.js";
import { fileAt, inside, modulePath, type ReadModule } from "./module-file.js";
import type { ModuleEdge } from "./import-cycles.js";

/** A name as a file has it: its own, or that of a module which it imports from. */
export interface Target {
  readonly from: string;
  readonly module?: string;
  readonly name: string;
}

export type Workflows = ReturnType<typeof workflowsOf>;

/** @param unread files that could not be read whole, so a missing workflow says nothing */
export function workflowsOf(
  files: readonly FileFacts[],
  unread: ReadonlySet<string>,
  reexports: Reexports,
  read: ReadModule,
) {
  const byExport = new Map<string, string>();
  const byLocal = new Map<string, string>();
  const key = (file: string, name: string) => `${withoutEnding(file)}\n${name}`;
  for (const { file, definitions, locals, reexports } of files) {
    for (const map of [byExport, byLocal])
      for (const local of locals) map.set(key(file, local), refusedName(local, file));
    for (const { name, local } of definitions) byLocal.set(key(file, local), name);
    for (const { name } of definitions) byExport.set(key(file, name), name);
    const given = reexports.find((each) => each.exported === "default" && !each.module);
    const [own] = definitions.filter(({ local }) => local === given?.imported);
    if (own !== undefined) byExport.set(key(file, "default"), own.name);
  }
  const unreadPaths = new Set([...unread].map(withoutEnding));
  const names = files.flatMap(({ definitions }) => definitions.map(({ name }) => name)).sort();
  const refused = files.flatMap(({ definitions, locals }) =>
    locals.filter((each) => definitions.every(({ local }) => local !== each)),
  );
  const known = new Set([...names, ...refused]);
  return {
    /** Says whether one has this name, or may have it once what was reported is corrected. */
    has: (name: string) => known.has(name) || unread.size > 0,
    nearest: (name: string) => nearest(name, names),
    lookUp: ({ from, module, name }: Target) => {
      const path = module === undefined ? withoutEnding(from) : modulePath(from, module, read);
      const places = path === undefined ? [] : placesOf({ module: path, name }, reexports);
      const names = module === undefined ? byLocal : byExport;
      const found = places.map(({ module, name }) => names.get(key(module, name)));
      const unread = places.find(({ module }) => unreadPaths.has(module));
      return {
        /** Its name; that of a definition that was reported is no workflow's. */
        workflow: found.find((each) => each !== undefined),
        /** The same if a file on the way to it could not be read whole, so that it may be one. */
        unread: unread && refusedName(name, unread.module),
        endsInDefinition: places.at(-1)?.module.endsWith(".workflow") === true,
      };
    },
  };
}

/** Names what was reported, as no workflow is named: whoever starts it waits until it is sound. */
const refusedName = (name: string, file: string): string => `${name} of ${file}`;

/** Returns what a file is most likely told of the other files, before these have been read. */
export function expectedOf(facts: FileFacts, read: ReadModule): Workflows {
  const path = withoutEnding(facts.file);
  const own = placed(facts.reexports, facts.file, read);
  const here = workflowsOf([facts], new Set(), (each) => (each === path ? own : undefined), read);
  return {
    has: () => true,
    nearest: () => undefined,
    lookUp: (target) => {
      if (target.module === undefined) return here.lookUp(target);
      const file = modulePath(target.from, target.module, read);
      const endsInDefinition = file?.endsWith(".workflow") === true;
      const workflow = endsInDefinition ? target.name : undefined;
      return { workflow, unread: undefined, endsInDefinition };
    },
  };
}

/** Questions about the project's workflows and their answers: while equal, so are the plans. */
export type Answers = Readonly<Record<string, string>>;

const asText = (answer: unknown): string => JSON.stringify(answer) ?? "";

export function recording(workflows: Workflows): { workflows: Workflows; answers: Answers } {
  const answers: Record<string, string> = {};
  const noting =
    <About, Answer>(kind: keyof Workflows, ask: (about: About) => Answer) =>
    (about: About): Answer => {
      const answer = ask(about);
      answers[JSON.stringify([kind, about])] = asText(answer);
      return answer;
    };
  const has = noting("has", workflows.has);
  const near = noting("nearest", workflows.nearest);
  return { answers, workflows: { has, nearest: near, lookUp: noting("lookUp", workflows.lookUp) } };
}

export const areStillGiven = (answers: Answers, workflows: Workflows): boolean =>
  Object.entries(answers).every(([question, answer]) => {
    // Written by `recording`.
    const [kind, about] = JSON.parse(question) as [keyof Workflows, never];
    return asText(workflows[kind](about)) === answer;
  });

/** A name that a file hands on, and its name in a module or the file; `*` for all with names. */
export interface Reexport {
  readonly exported: string;
  readonly imported: string;
  /** Undefined for a name of the file itself. */
  readonly module: string | undefined;
}

/** The names that files hand on, by file without its ending, as the other files are too. */
export type Reexports = (file: string) => readonly Reexport[] | undefined;

type NameIn = Readonly<Record<"module" | "name", string>>;

export const placed = (found: readonly Reexport[], from: string, read: ReadModule): Reexport[] =>
  found.map((each) => ({ ...each, module: each.module && modulePath(from, each.module, read) }));

/** Returns what files hand on: a workflow may be named through files that only re-export it. */
export async function allReexports(
  files: readonly FileFacts[],
  read: ReadModule,
  reexportsIn: (file: string, text: string) => Promise<readonly Reexport[]>,
): Promise<Reexports> {
  const all = new Map<string, readonly Reexport[]>();
  const imported = files.flatMap(({ file, imports }) =>
    imports.map((module) => modulePath(file, module, read)),
  );
  const waiting = new Set(imported);
  const add = (path: string, file: string, found: readonly Reexport[]) => {
    const given = placed(found, file, read);
    all.set(path, given);
    for (const { module } of given) waiting.add(module);
  };
  for (const { file, reexports } of files) add(withoutEnding(file), file, reexports);
  for (const path of waiting) {
    const found = path === undefined || all.has(path) ? undefined : fileAt(path, inside(read));
    if (found === undefined) continue;
    const { file, text } = found;
    add(found.path, file, /\bexport\s*[{*]/.test(text) ? await reexportsIn(file, text) : []);
  }
  return (path) => all.get(path);
}

/** Returns where a name may be declared: in the file itself, then in those it is handed on from. */
export function placesOf(
  target: NameIn,
  reexports: Reexports,
  seen: ReadonlySet<string> = new Set(),
): NameIn[] {
  const key = `${target.module}\n${target.name}`;
  if (seen.has(key)) return [];
  const path = new Set([...seen, key]);
  const all = reexports(target.module) ?? [];
  // What is exported by its name is not what `export *` has under that name.
  const named = all.filter(({ exported }) => exported === target.name);
  const stars = all.filter(({ exported }) => exported === "*" && target.name !== "default");
  const further = (named.length > 0 ? named : stars).flatMap(({ exported, imported, module }) => {
    const isAll = exported === "*";
    if (module === undefined || (imported === "*" && !isAll)) return [];
    return placesOf({ module, name: isAll ? target.name : imported }, reexports, path);
  });
  return [target, ...further];
}

export interface FileFacts {
  readonly file: string;
  /** Its workflows, by their exported names and the names of their variables. */
  readonly definitions: readonly { readonly name: string; readonly local: string }[];
  /** Every variable that a workflow is assigned to, also where something is wrong with it. */
  readonly locals: readonly string[];
  readonly imports: readonly string[];
  readonly reexports: readonly Reexport[];
  readonly edges: readonly ModuleEdge[];
}
