import { beginningOf, completionName, outputOf } from "../plan/flow.js";
import type { StagePlan } from "../plan/schema.js";
import { list, object, property } from "./code.js";
import { commented, exportedConst, outputName, runFunction } from "./lowering.js";
import type { StageCode, StageLowering } from "./lowering.js";

/** A stage that is queued: the action, and the completion that it reports to. */
const action: StageLowering = {
  sections(stage) {
    const { file, identifier, name } = stage;
    const { reference, mention } = stage.stage;
    const own = file.name("own");
    const handler = stage.part("action");
    const value = reference === undefined ? handler : stage.callOf("Action", handler);
    const done = completionName(stage.stage.name);
    const completion = `${own}.completion(${name}, ${stage.next})`;
    return [
      stage.section(
        reference === undefined ? "" : `runs ${reference}`,
        exportedConst(identifier, file.runtime("StepAction"), `${own}.action(${name}, ${value})`),
      ),
      commented(
        `After ${mention.elsewhere}: ${stage.following}.`,
        exportedConst(done, file.runtime("Completion"), completion),
      ),
    ];
  },
};

/** A mutation or query stage: it runs inside the transaction that arrives at it. */
function transaction(kind: "mutation" | "query"): StageLowering {
  const capitalized = kind === "query" ? "Query" : "Mutation";
  return {
    sections(stage) {
      const { file, identifier, name, next, following } = stage;
      const { reference } = stage.stage;
      const handler = stage.part(kind);
      const call = `run.${kind}(${name}, ${next}`;
      if (reference !== undefined) {
        const value = stage.callOf(capitalized, handler);
        return [stage.arriving(`runs ${reference}; then ${following}`, `${call}, ${value})`)];
      }
      const type = file.runtime(`Step${capitalized}`);
      return [
        stage.arriving(`then ${following}`, `${call})`),
        commented(
          `What ${stage.arrival} runs, nested in its transaction.`,
          exportedConst(identifier, type, `${file.name("own")}.${kind}(${name}, ${handler})`),
        ),
      ];
    },
  };
}

const sleep: StageLowering = {
  sections(stage) {
    const args = [stage.name, stage.part("duration"), stage.next];
    return [stage.arriving(`waits; then ${stage.following}`, `run.sleep(${args.join(", ")})`)];
  },
  entryAfter: ({ next }) => next,
};

const event: StageLowering = {
  sections(stage) {
    const comment = `waits for it; then ${stage.following}`;
    return [stage.arriving(comment, `run.event(${stage.name}, ${stage.next})`)];
  },
  entryAfter: ({ next }) => next,
};

const child: StageLowering = {
  sections(stage) {
    const { file, name, next, following, afterChildren } = stage;
    const [workflow = ""] = stage.stage.workflows ?? [];
    const args = [name, stage.part("args"), file.reference(workflow)];
    return [
      stage.arriving(`a run of ${workflow}`, `run.child(${args.join(", ")})`),
      commented(
        `After the child of ${stage.stage.mention.elsewhere}: its output is the child's; then ${following}.`,
        runFunction(afterChildren, `run.gather(${name}, ${next})`, file),
      ),
    ];
  },
  entryAfter: ({ afterChildren }) => afterChildren,
};

/** The children of a parent: the last one that ends moves the run on. */
const children: StageLowering = {
  sections(stage) {
    const { file } = stage;
    const finalize = finalizeOf(stage);
    const names = stage.stage.workflows?.map((name) => file.reference(name));
    const references = names === undefined ? file.allReferences() : list(names);
    const following =
      finalize === undefined ? "its outputs are gathered" : stage.mentioned(finalize);
    const starting = stage.arriving(
      `its children in parallel; then ${following}`,
      `run.children(${stage.name}, ${stage.part("children")}, ${references})`,
    );
    return isEnteredByFinalize(stage) ? [starting] : [starting, afterLastChild(stage)];
  },
  entryAfter: (stage) => (isEnteredByFinalize(stage) ? stage.next : stage.afterChildren),
};

/** A finalize takes the outputs of the children itself, unless they are reduced first. */
const isEnteredByFinalize = (stage: StageCode): boolean =>
  finalizeOf(stage) !== undefined && stage.stage.reduce !== true;

/** What a run does after the last child, if that is more than to go on with the finalize. */
function afterLastChild(code: StageCode): string {
  const { stage, file, afterChildren, next, following } = code;
  const hasHandler = file.stages(stage).some(({ name }) => name === `${stage.name}.output`);
  const output = `its output is ${hasHandler ? "{ output, children }" : "{ children }"}${stage.reduce === true ? ", reduced" : ""}`;
  const [what, way] =
    finalizeOf(code) === undefined ? [output, "gather"] : ["their outputs are reduced", "reduce"];
  return commented(
    `After the last child of ${stage.label.replace(/^\w+ /, "")}: ${what}; then ${following}.`,
    runFunction(afterChildren, `run.${way}(${code.name}, ${next})`, file),
  );
}

function finalizeOf({ stage, file }: StageCode): StagePlan | undefined {
  const next = file.after(stage);
  const isFinalize = next.at === "stage" && next.stage.name === `${stage.name}.finalize`;
  return isFinalize ? next.stage : undefined;
}

/** A branch: it gives a key, and the run goes on with the case of that key. */
const branch: StageLowering = {
  sections(stage) {
    const { file, name, next, following } = stage;
    const cases = file
      .bodies(stage.stage)
      .map((body) => property(body.storage ?? body.key, file.arrival(beginningOf(body))));
    const args = [name, stage.part("on"), object(cases), next];
    const comment = `one of its cases; then ${following}`;
    return [stage.arriving(comment, `run.branch(${args.join(", ")})`)];
  },
  endOfBody({ stage, file, name, next, following }, body) {
    const output = outputOf(body.nodes);
    const what = output === null ? "null" : `that of ${output.mention.elsewhere}`;
    const end = `run.endBranch(${name}, ${outputName(body.nodes)}, ${next})`;
    return commented(
      `After case ${JSON.stringify(body.key)} of ${stage.mention.elsewhere}: the branch's output is ${what}; then ${following}.`,
      runFunction(file.arrival({ at: "endOfBody", body }), end, file),
    );
  },
};

/** A loop: it makes its first state; the end of each iteration asks for another. */
const loop: StageLowering = {
  sections(stage) {
    const args = [stage.name, stage.part("initial"), ...bodyAndNext(stage)];
    return [stage.arriving("its first iteration", `run.loop(${args.join(", ")})`)];
  },
  endOfBody(stage, body) {
    const { mention } = stage.stage;
    const state = [stage.name, outputName(body.nodes), stage.part("until")];
    const end = `run.endIteration(${[...state, ...bodyAndNext(stage)].join(", ")})`;
    return commented(
      `After an iteration of ${mention.elsewhere}: the next one, or ${stage.following}.`,
      runFunction(stage.file.arrival({ at: "endOfBody", body }), end, stage.file),
    );
  },
};

/** Where an iteration begins, and what follows the loop. */
function bodyAndNext({ stage, file, next }: StageCode): string[] {
  return [...file.bodies(stage).map((body) => file.arrival(beginningOf(body))), next];
}

/** Every kind of stage. A new kind is one entry here. */
export const stageLowerings: Readonly<Record<StagePlan["kind"], StageLowering>> = {
  action,
  mutation: transaction("mutation"),
  query: transaction("query"),
  children,
  sleep,
  event,
  branch,
  loop,
  child,
};
