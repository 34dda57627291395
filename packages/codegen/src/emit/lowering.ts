import { outputOf, stageIdentifier } from "../plan/flow.js";
import type { BodyPlan, StagePlan } from "../plan/schema.js";
import { commentText, laidOut, quoted } from "./code.js";
import type { FileScope } from "./file-scope.js";

/** How one kind of stage is written: declarations with their comments. */
export interface StageLowering {
  sections(stage: StageCode): string[];
  /** What a run does at the end of one of the bodies of a stage that has bodies. */
  endOfBody?(stage: StageCode, body: BodyPlan): string;
  /** The function by which the component enters when what a stage waits for has come. */
  entryAfter?(stage: StageCode): string;
}

export const commented = (comment: string, code: string): string =>
  `/** ${commentText(comment)} */\n${code}`;

/** `function toSave(run: Run): Arrival { return run.…; }` */
export function runFunction(name: string, result: string, file: FileScope): string {
  const head = `function ${name}(run: ${file.runtime("Run")}): ${file.runtime("Arrival")}`;
  return `${laidOut(head, "", 0, 2)} {\n  ${laidOut(`return ${result};`, "  ")}\n}`;
}

export const exportedConst = (name: string, type: string, value: string): string =>
  laidOut(`export const ${name}: ${type} = ${value};`);

export function outputName(nodes: BodyPlan["nodes"]): string {
  const output = outputOf(nodes);
  return output === null ? "null" : quoted(output.name);
}

/** One stage and what its lowering writes of it: parts of code, and of comments. */
export class StageCode {
  readonly identifier: string;
  readonly name: string;

  constructor(
    readonly stage: StagePlan,
    readonly file: FileScope,
  ) {
    this.identifier = stageIdentifier(stage.name);
    this.name = quoted(stage.name);
  }

  get next(): string {
    return this.file.arrival(this.file.after(this.stage));
  }

  /** The function by which the run goes on after the last child of the stage. */
  get afterChildren(): string {
    return this.file.afterPath(this.stage.name);
  }

  /** Where its code is found in the definition: `nodes.chapters.finalize.mutation`. */
  part(member: string): string {
    return [this.file.name("nodes"), ...this.stage.code, member].join(".");
  }

  /** A function that calls the stage's reference with the user's `args`. */
  callOf(kind: "Action" | "Mutation" | "Query", handler: string): string {
    const given = this.stage.info === true ? "scope, info" : "scope";
    return `(ctx, ${given}) => ctx.run${kind}(${handler}, ${this.part("args")}(${given}))`;
  }

  /** `"save"`, or that the run is complete. */
  get following(): string {
    const next = this.file.after(this.stage);
    if (next.at === "stage") return this.mentioned(next.stage);
    if (next.at === "endOfBody") return next.body.end;
    return next.at === "undone" ? "it is undone" : "the run is complete";
  }

  /** How another stage is called in a sentence about this one. */
  mentioned({ node, mention }: StagePlan): string {
    return node === this.stage.node ? mention.within : mention.elsewhere;
  }

  get arrival(): string {
    return this.file.arrival({ at: "stage", stage: this.stage });
  }

  /** A declaration whose comment begins with the stage's place in the source. */
  section(comment: string, code: string): string {
    const more = comment === "" ? "" : `: ${comment}`;
    return commented(`${this.file.source}, ${this.stage.label}${more}.`, code);
  }

  arriving(comment: string, result: string): string {
    return this.section(comment, runFunction(this.arrival, result, this.file));
  }
}
