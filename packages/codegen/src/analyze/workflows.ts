import { nearest } from "../diagnostics/nearest.js";
import { withoutEnding } from "../plan/paths.js";
import { moduleFile, modulePath, type ReadModule } from "./module-file.js";
import type { ModuleFacts } from "./import-cycles.js";

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
  const byPlace = new Map<string, string | null>();
  const key = (file: string, name: string) => `${file}\n${name}`;
  for (const { file, definitions, locals } of files) {
    for (const local of locals) byPlace.set(key(file, local), null);
    for (const { name, local } of definitions) {
      byPlace.set(key(file, name), name);
      byPlace.set(key(file, local), name);
    }
  }
  const names = files.flatMap(({ definitions }) => definitions.map(({ name }) => name)).sort();
  const known = new Set(names);
  return {
    has: (name: string) => known.has(name),
    nearest: (name: string) => nearest(name, names),
    lookUp: ({ from, module, name }: Target) => {
      const path = module === undefined ? withoutEnding(from) : modulePath(from, module, read);
      const places = path === undefined ? [] : placesOf({ module: path, name }, reexports);
      const found = places.map(({ module, name }) => byPlace.get(key(`${module}.ts`, name)));
      return {
        /** Its name; null for a definition that was reported. */
        workflow: found.find((each) => each !== undefined),
        /** Whether it may be one all the same: a file on the way to it could not be read whole. */
        isOpen: places.some(({ module }) => unread.has(`${module}.ts`)),
        endsInDefinition: places.at(-1)?.module.endsWith(".workflow") === true,
      };
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

/** A name that a file hands on from a module, and its name there; `*` for all that has names. */
export interface Reexport {
  readonly exported: string;
  readonly imported: string;
  readonly module: string;
}

/** The names that files hand on, by file without its ending, as the other files are too. */
export type Reexports = ReadonlyMap<string, readonly Reexport[]>;

type NameIn = Readonly<Record<"module" | "name", string>>;

/** What files hand on: a workflow may be named through files that only re-export it. */
export async function allReexports(
  files: readonly FileFacts[],
  read: ReadModule,
  reexportsIn: (file: string, text: string) => Promise<readonly Reexport[]>,
): Promise<Reexports> {
  const reexports = new Map<string, readonly Reexport[]>();
  const waiting: { from: string; module: string }[] = [];
  const add = (path: string, from: string, found: readonly Reexport[]) => {
    const placed = found.flatMap((each): Reexport[] => {
      const module = modulePath(from, each.module, read);
      return module === undefined ? [] : [{ ...each, module }];
    });
    reexports.set(path, placed);
    waiting.push(...found.map(({ module }) => ({ from, module })));
  };
  for (const { file, reexports: found } of files) add(withoutEnding(file), file, found);
  for (const { file, imports } of files)
    waiting.push(...imports.map((module) => ({ from: file, module })));
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    const found = moduleFile(next.from, next.module, read);
    if (found === undefined || reexports.has(found.path)) continue;
    const { path, file, text } = found;
    add(path, file, /\bexport\s*[{*]/.test(text) ? await reexportsIn(file, text) : []);
  }
  return reexports;
}

/** Where a name may be declared: in the file itself, then in those it is handed on from. */
function placesOf(
  target: NameIn,
  reexports: Reexports,
  seen: ReadonlySet<string> = new Set(),
): NameIn[] {
  const key = `${target.module}\n${target.name}`;
  if (seen.has(key)) return [];
  const path = new Set([...seen, key]);
  const further = (reexports.get(target.module) ?? []).flatMap(({ exported, imported, module }) => {
    const [isAll, isNamed] = [exported === "*", exported === target.name && imported !== "*"];
    const isGiven = isAll ? target.name !== "default" : isNamed;
    return isGiven
      ? placesOf({ module, name: isAll ? target.name : imported }, reexports, path)
      : [];
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
  readonly module: ModuleFacts;
}
