import { commented, runFunction, type StageLowering } from "./lowering.js";

/* The stages at which a run waits for something outside: for a time, an event, one other run. */

export const sleep: StageLowering = {
  sections: (stage) => [
    stage.arriving(
      `waits; then ${stage.following}`,
      `run.sleep(${stage.name}, ${stage.reads}, ${stage.part("duration")}, ${stage.next})`,
    ),
  ],

  entryAfter: ({ next }) => next,
};

export const event: StageLowering = {
  sections(stage) {
    const reads = stage.stage.reads.length === 0 ? "" : `, ${stage.reads}`;
    return [
      stage.arriving(
        `waits for it; then ${stage.following}`,
        `run.event(${stage.name}, ${stage.next}${reads})`,
      ),
    ];
  },

  entryAfter: ({ next }) => next,
};

export const child: StageLowering = {
  sections(stage) {
    const { file, name, reads, next, following, afterChildren } = stage;
    const [workflow = ""] = stage.stage.workflows ?? [];
    const args = [name, reads, stage.part("args"), file.reference(workflow)];
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
