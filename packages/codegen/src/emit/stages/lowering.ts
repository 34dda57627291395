import { capitalized, stageIdentifier } from "../../plan/functions.js";
import type { Following } from "../../plan/flow.js";
import type { BodyPlan, StagePlan } from "../../plan/schema.js";
import { call } from "../print/code.js";
import { group, hardline, ifBreak, indent, softline, type Doc } from "../print/doc.js";
import { commentText } from "../print/text.js";

/** One declaration of a generated file, and the comment above it. */
export interface Section {
  readonly comment: string;
  readonly code: Doc;
}

/** A declaration below its comment. */
export const commented = ({ comment, code }: Section): Doc => [
  `/** ${commentText(comment)} */`,
  hardline,
  code,
];

/** What lowering a stage needs of the file it is written into. */
export interface StageFile {
  /** The definition's file, for comments. */
  readonly source: string;
  /** The local name of something the run time exports; imports it. */
  runtime(name: string): string;
  /** The local name of what the file's functions are made with: `own`. */
  own(): string;
  /** The local name of the definition's nodes, which the file then takes out of it. */
  nodes(): string;
  /** The function that a run arrives at a stage by, or at the end of its line. */
  arrival(at: Following): string;
  /** The function that a run goes on by after the last child of a stage. */
  afterChildren(stage: StagePlan): string;
  /** The reference of another workflow, or of this one; imports it. */
  reference(workflow: string): string;
  /** The references of all workflows of the project; imports the list of them. */
  allReferences(): string;
  after(stage: StagePlan): Following;
  /** The nodes inside a stage's node. */
  bodies(stage: StagePlan): readonly BodyPlan[];
  /** All stages of a stage's node. */
  stages(stage: StagePlan): readonly StagePlan[];
}

/** How one kind of stage is written. */
export interface StageLowering {
  sections(stage: StagePlan, file: StageFile): Section[];
  /** What a run does at the end of one of the bodies of a stage that has some. */
  endOfBody?(stage: StagePlan, body: BodyPlan, file: StageFile): Section;
  /** The function that the component enters by when what a stage waits for has come, for a stage that waits. */
  entryAfter?(stage: StagePlan, file: StageFile): string;
  /** Whether the component can schedule the stage directly when a run starts. */
  readonly isScheduled: boolean;
}

/** `function toSave(run: Run): Arrival { return run.…; }` */
export function runFunction(name: string, result: Doc, file: StageFile): Doc {
  const parameters = group([
    "(",
    indent([softline, `run: ${file.runtime("Run")}`]),
    ifBreak(","),
    softline,
    ")",
  ]);
  return [
    `function ${name}`,
    parameters,
    `: ${file.runtime("Arrival")} {`,
    indent([hardline, "return ", result, ";"]),
    hardline,
    "}",
  ];
}

/** The function by which a run arrives at a stage. */
export const toStage = (stage: StagePlan, result: Doc, file: StageFile): Doc =>
  runFunction(file.arrival({ at: "stage", stage }), result, file);

/** Where a stage's code is found in the definition: `nodes.chapters.finalize.mutation`. */
export function inDefinition(stage: StagePlan, member: string, file: StageFile): string[] {
  return [file.nodes(), ...stage.code, member];
}

/** The parameters of a function that calls a reference: `ctx, scope`. */
export const callParameters = ({ info }: StagePlan): string =>
  info === true ? "ctx, scope, info" : "ctx, scope";

/** A call of the user's `args`: `nodes.save.args(scope)`. */
export function argsCall(stage: StagePlan, file: StageFile): Doc {
  const given = stage.info === true ? ["scope", "info"] : ["scope"];
  return call(inDefinition(stage, "args", file).join("."), given);
}

/** `then "save"`, or that the run is complete. */
export const thenText = (stage: StagePlan, file: StageFile): string =>
  `then ${followingText(stage, file)}`;

/** `"save"`, or that the run is complete. */
export function followingText(stage: StagePlan, file: StageFile): string {
  const next = file.after(stage);
  if (next.at === "stage") return mentioned(next.stage, stage);
  if (next.at === "endOfBody") return next.body.end;
  return next.at === "undone" ? "it is undone" : "the run is complete";
}

/** How a stage is called in a sentence about another one. */
export function mentioned(stage: StagePlan, from: StagePlan): string {
  return stage.node === from.node ? stage.mention.within : stage.mention.elsewhere;
}

/** How the comment of a stage begins. */
export function lead(stage: StagePlan, file: StageFile): string {
  return `${file.source}, ${stage.label}`;
}

export const arrivalName = (stage: StagePlan): string =>
  `to${capitalized(stageIdentifier(stage.name))}`;
