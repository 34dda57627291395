import { beginningOf, completionName, outputOf } from "../plan/flow.js";
import { stageIdentifier } from "../plan/names.js";
import { isOnEnd } from "../plan/on-end.js";
import { computedReference } from "../plan/constants.js";
import type { BodyPlan, NodePlan, StagePlan } from "../plan/schema.js";
import { commented, memberOf, object, property, quoted } from "./code.js";
import type { FileScope } from "./file-scope.js";

const calls = (reference: string): string =>
  `runs ${reference === computedReference ? "a function reference" : reference}`;

/** How one kind of stage is written: declarations with their comments. */
interface StageLowering {
  sections(stage: StageCode): string[];
  /** What a run does at the end of one of the bodies of a stage that has bodies. */
  endOfBody?(stage: StageCode, body: BodyPlan): string;
  /** The function by which the component enters when what a stage waits for has come. */
  entryAfter?(stage: StageCode): string;
}

export function outputName(nodes: BodyPlan["nodes"]): string {
  const output = outputOf(nodes);
  return output === null ? "null" : quoted(output.name);
}

/** The output of a case, an item or the like, in a sentence. */
function outputIn({ nodes }: BodyPlan): string {
  const output = outputOf(nodes);
  return output === null ? "null" : `that of ${output.mention.elsewhere}`;
}

/** One stage and what its lowering writes of it: parts of code, and of comments. */
export class StageCode {
  readonly identifier: string;
  readonly name: string;

  constructor(
    readonly stage: StagePlan,
    readonly node: NodePlan,
    readonly file: FileScope,
  ) {
    this.identifier = stageIdentifier(stage.name);
    this.name = quoted(stage.name);
  }

  get next(): string {
    return this.file.arrival(this.file.after(this.stage));
  }

  /** What follows the last stage of the node. */
  get afterNode(): string {
    const last = this.node.stages.findLast(({ isAside }) => !isAside) ?? this.stage;
    return this.file.arrival(this.file.after(last));
  }

  /** The function by which the run goes on after the last child of the stage. */
  get afterChildren(): string {
    return this.file.afterPath(this.stage.name);
  }

  get arrival(): string {
    return this.file.arrival({ at: "stage", stage: this.stage });
  }

  get lowering(): StageLowering {
    return stageLowerings[this.stage.kind];
  }

  /** Returns where its code is found in the definition: `nodes.chapters.finalize.mutation`. */
  part(member: string): string {
    const holder = isOnEnd(this.node) ? "own" : "nodes";
    return [...this.stage.code, member].reduce(memberOf, this.file.name(holder));
  }

  /** A function that calls the stage's reference with the user's `args`. */
  callOf(kind: "action" | "mutation" | "query"): string {
    const given = this.stage.info === true ? "scope, info" : "scope";
    const method = `run${kind[0]?.toUpperCase()}${kind.slice(1)}`;
    return `(ctx, ${given}) => ctx.${method}(${this.part(kind)}, ${this.part("args")}(${given}))`;
  }

  /** `"save"`, or that the run is complete. */
  get following(): string {
    const next = this.file.after(this.stage);
    if (next.at === "stage") return this.mentioned(next.stage);
    if (next.at === "endOfBody") return next.body.end;
    if (next.at === "ended") return "nothing, as the run has ended";
    return next.at === "undone" ? "it is undone" : "the run is complete";
  }

  /** Returns how another stage is called in a sentence about this one. */
  mentioned({ node, mention }: StagePlan): string {
    return node === this.stage.node ? mention.within : mention.elsewhere;
  }

  /** A declaration whose comment begins with the stage's place in the source. */
  section(comment: string, code: string): string {
    const more = comment === "" ? "" : `: ${comment}`;
    return commented(`${this.file.source}, ${this.stage.label}${more}.`, code);
  }

  /** The function by which a run comes to the end of one of the bodies. */
  ending(body: BodyPlan, comment: string, method: string, ...args: string[]): string {
    const end = this.file.arrival({ at: "endOfBody", body });
    return commented(comment, this.file.runFunction(end, method, ...args));
  }

  /** The function by which a run arrives at the stage. */
  arriving(comment: string, method: string, ...args: string[]): string {
    const code = this.file.runFunction(this.arrival, method, this.name, ...args);
    return this.section(comment, code);
  }
}

/** A stage that is queued: the action, and the completion that it reports to. */
const action: StageLowering = {
  sections(code) {
    const { file, identifier, name, stage } = code;
    const { reference } = stage;
    const value = reference === undefined ? code.part("action") : code.callOf("action");
    return [
      code.section(
        reference === undefined ? "" : calls(reference),
        file.exported(identifier, "StepAction", "action", name, value),
      ),
      commented(
        `After ${stage.mention.elsewhere}: ${code.following}.`,
        file.exported(completionName(stage.name), "Completion", "completion", name, code.next),
      ),
    ];
  },
};

/** A mutation or query stage: it runs inside the transaction that arrives at it. */
const transaction = (kind: "mutation" | "query"): StageLowering => ({
  sections(code) {
    const { file, identifier, name, next, following } = code;
    const { reference } = code.stage;
    if (reference !== undefined) {
      const comment = `${calls(reference)}; then ${following}`;
      return [code.arriving(comment, kind, next, code.callOf(kind))];
    }
    const type = kind === "query" ? "StepQuery" : "StepMutation";
    return [
      code.arriving(`then ${following}`, kind, next),
      commented(
        `What ${code.arrival} runs, nested in its transaction.`,
        file.exported(identifier, type, kind, name, code.part(kind)),
      ),
    ];
  },
});

const sleep: StageLowering = {
  sections: (code) => [
    code.arriving(`waits; then ${code.following}`, "sleep", code.part("duration"), code.next),
  ],
  entryAfter: ({ next }) => next,
};

const event: StageLowering = {
  sections: (code) => [code.arriving(`waits for it; then ${code.following}`, "event", code.next)],
  entryAfter: ({ next }) => next,
};

const child: StageLowering = {
  sections(code) {
    const { file, stage, afterChildren } = code;
    const [workflow = ""] = stage.workflows ?? [];
    const args = [code.part("args"), file.reference(workflow)];
    return [
      code.arriving(`a run of ${workflow}`, "child", ...args),
      commented(
        `After the child of ${stage.mention.elsewhere}: its output is the child's; then ${code.following}.`,
        file.runFunction(afterChildren, "gather", code.name, code.next),
      ),
    ];
  },
  entryAfter: ({ afterChildren }) => afterChildren,
};

/** The children of a parent: the last one that ends moves the run on. */
const children: StageLowering = {
  sections(code) {
    const { file, stage } = code;
    const finalize = finalizeOf(code);
    const following =
      finalize === undefined ? "its outputs are gathered" : code.mentioned(finalize);
    const comment = `its children in parallel; then ${following}`;
    const starting = code.arriving(
      comment,
      "children",
      code.part("children"),
      file.references(stage),
    );
    return isEnteredByFinalize(code) ? [starting] : [starting, afterLastChild(code)];
  },
  entryAfter: (code) => (isEnteredByFinalize(code) ? code.next : code.afterChildren),
};

/** A finalize takes the outputs of the children itself, unless they are reduced first. */
const isEnteredByFinalize = (code: StageCode): boolean =>
  finalizeOf(code) !== undefined && code.stage.reduce !== true;

/**
 * Returns what a run does after the last child, if that is more than to go on with the finalize.
 */
function afterLastChild(code: StageCode): string {
  const { stage, node, file } = code;
  const hasHandler = node.stages.some(({ name }) => name === `${stage.name}.output`);
  const output = `its output is ${hasHandler ? "{ output, children }" : "{ children }"}${stage.reduce === true ? ", reduced" : ""}`;
  const [what, way] =
    finalizeOf(code) === undefined ? [output, "gather"] : ["their outputs are reduced", "reduce"];
  return commented(
    `After the last child of ${stage.label.replace(/^\w+ /, "")}: ${what}; then ${code.following}.`,
    file.runFunction(code.afterChildren, way, code.name, code.next),
  );
}

function finalizeOf({ stage, file }: StageCode): StagePlan | undefined {
  const next = file.after(stage);
  const isFinalize = next.at === "stage" && next.stage.name === `${stage.name}.finalize`;
  return isFinalize ? next.stage : undefined;
}

interface Wording {
  /** The option that gives what it goes through. */
  readonly given?: string;
  readonly until?: string;
  readonly after?: string;
  readonly output?: string;
}

/**
 * Branches, cases or items, each of which is a run that goes through a part of the same functions.
 */
const concurrent = (
  what: string,
  one: (body: BodyPlan) => string,
  { given, until = "its outputs are gathered", after = "all of", output = "theirs" }: Wording = {},
): StageLowering => ({
  sections(code) {
    const { stage, file, name, following } = code;
    const reduced = stage.reduce === true ? ", reduced" : "";
    const args = given === undefined ? [] : [code.part(given)];
    return [
      code.arriving(`${what}, all at once; then ${until}`, stage.kind, ...args),
      commented(
        `After ${after} ${stage.mention.elsewhere}: its output is ${output}${reduced}; then ${following}.`,
        file.runFunction(file.afterAll(stage.name), "gather", name, code.next),
      ),
    ];
  },
  endOfBody(code, body) {
    const comment = `${one(body)} of ${code.stage.mention.elsewhere} is complete; its output is ${outputIn(body)}.`;
    return code.ending(body, comment, "complete", outputName(body.nodes));
  },
  entryAfter: ({ file, stage }) => file.afterAll(stage.name),
});

/** A branch: it gives a key, and the run goes on with the case of that key. */
const branch: StageLowering = {
  sections(code) {
    const cases = code.node.bodies?.map((body) =>
      property(body.storage ?? body.key, code.file.arrival(beginningOf(body))),
    );
    const args = [code.part("on"), object(cases ?? []), code.next];
    return [code.arriving(`one of its cases; then ${code.following}`, "branch", ...args)];
  },
  endOfBody(code, body) {
    const { stage, name, next, following } = code;
    const comment = `After case ${JSON.stringify(body.key)} of ${stage.mention.elsewhere}: the branch's output is ${outputIn(body)}; then ${following}.`;
    return code.ending(body, comment, "endBranch", name, outputName(body.nodes), next);
  },
};

/** A loop: it makes its first state; the end of each iteration asks for another. */
const loop: StageLowering = {
  sections: (code) => [
    code.arriving("its first iteration", "loop", code.part("initial"), ...bodyAndNext(code)),
  ],
  endOfBody(code, body) {
    const comment = `After an iteration of ${code.stage.mention.elsewhere}: the next one, or ${code.following}.`;
    const args = [outputName(body.nodes), code.part("until"), ...bodyAndNext(code)];
    return code.ending(body, comment, "endIteration", code.name, ...args);
  },
};

/** An end: the run is complete, with an output of its own. */
const end: StageLowering = {
  sections: (code) => [code.arriving("the run ends with this output", "end", code.part("output"))],
};

/** Returns where an iteration begins, and what follows the loop. */
const bodyAndNext = ({ node, file, next }: StageCode): string[] => [
  ...(node.bodies ?? []).map((body) => file.arrival(beginningOf(body))),
  next,
];

/** Every kind of stage. A new kind is one entry here. */
const stageLowerings: Readonly<Record<StagePlan["kind"], StageLowering>> = {
  action,
  mutation: transaction("mutation"),
  query: transaction("query"),
  children,
  sleep,
  event,
  branch,
  loop,
  parallel: concurrent("its branches", ({ key }) => `Branch ${JSON.stringify(key)}`),
  race: concurrent("its cases", ({ key }) => `Case ${JSON.stringify(key)}`, {
    until: "one has won",
    after: "a case of",
    output: "which case it was, with that of the case",
  }),
  each: concurrent("its items", () => "An item", { given: "of" }),
  child,
  end,
};
