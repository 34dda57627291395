import { nearest } from "../diagnostics/nearest.js";
import { type FileFacts, placesOf, withoutEnding, type Reexports } from "./reexports.js";
import { modulePath, type ReadModule } from "./module-file.js";

/** A name as a file has it: its own, or that of a module which it imports from. */
export interface Target {
  readonly from: string;
  /** As the file names it; absent for the file itself. */
  readonly module?: string;
  readonly name: string;
}

export interface FoundWorkflow {
  /** The workflow's name; null for a definition that was reported; absent for anything else. */
  readonly workflow?: string | null;
  /** Whether it may be one all the same: a file on the way to it could not be read whole. */
  readonly isOpen: boolean;
  /** Whether the way to it ends in a definition file. */
  readonly endsInDefinition: boolean;
}

/** The workflows of the project, as other definitions may name them. */
export interface Workflows {
  has(name: string): boolean;
  nearest(name: string): string | undefined;
  lookUp(target: Target): FoundWorkflow;
}

/** @param unread files that could not be read whole, so a missing workflow says nothing */
export function workflowsOf(
  files: readonly FileFacts[],
  unread: ReadonlySet<string>,
  reexports: Reexports,
  read: ReadModule,
): Workflows {
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
    has: (name) => known.has(name),
    nearest: (name) => nearest(name, names),
    lookUp({ from, module, name }) {
      const path = module === undefined ? withoutEnding(from) : modulePath(from, module, read);
      const places = path === undefined ? [] : placesOf({ module: path, name }, reexports);
      const found = places.map(({ module, name }) => byPlace.get(key(`${module}.ts`, name)));
      const workflow = found.find((each) => each !== undefined);
      return {
        ...(workflow === undefined ? {} : { workflow }),
        isOpen: places.some(({ module }) => unread.has(`${module}.ts`)),
        endsInDefinition: places.at(-1)?.module.endsWith(".workflow") === true,
      };
    },
  };
}

/** Questions about the project's workflows and their answers: while equal, so are the plans. */
export type Answers = Readonly<Record<string, string>>;

type Question = ["has" | "nearest", string] | ["lookUp", Target];

const answerTo = (workflows: Workflows, [kind, about]: Question): unknown =>
  kind === "lookUp" ? workflows.lookUp(about) : workflows[kind](about);

const asText = (answer: unknown): string => JSON.stringify(answer) ?? "";

/** The same workflows, and what is asked of them. */
export function recording(workflows: Workflows): { workflows: Workflows; answers: Answers } {
  const answers: Record<string, string> = {};
  const note = <Answer>(question: Question, answer: Answer): Answer => {
    answers[JSON.stringify(question)] = asText(answer);
    return answer;
  };
  return {
    answers,
    workflows: {
      has: (name) => note(["has", name], workflows.has(name)),
      nearest: (name) => note(["nearest", name], workflows.nearest(name)),
      lookUp: (target) => note(["lookUp", target], workflows.lookUp(target)),
    },
  };
}

export function areStillGiven(answers: Answers, workflows: Workflows): boolean {
  return Object.entries(answers).every(
    // Written by `recording`.
    ([question, answer]) =>
      asText(answerTo(workflows, JSON.parse(question) as Question)) === answer,
  );
}
