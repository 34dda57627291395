import { commented, exportedConst, type StageLowering } from "./lowering.js";

/** A mutation or query stage: it runs inside the transaction that arrives at it. */
export function transaction(kind: "mutation" | "query"): StageLowering {
  const capitalized = kind === "query" ? "Query" : "Mutation";
  return {
    sections(stage) {
      const { file, identifier, name, reads, next, following } = stage;
      const { reference } = stage.stage;
      const handler = stage.part(kind);
      if (reference !== undefined) {
        const value = stage.callOf(capitalized, handler);
        return [
          stage.arriving(
            `runs ${reference}; then ${following}`,
            `run.${kind}(${name}, ${reads}, ${next}, ${value})`,
          ),
        ];
      }
      const type = file.runtime(`Step${capitalized}`);
      return [
        stage.arriving(`then ${following}`, `run.${kind}(${name}, ${reads}, ${next})`),
        commented(
          `What ${stage.arrival} runs, nested in its transaction.`,
          exportedConst(identifier, type, `${file.name("own")}.${kind}(${name}, ${handler})`),
        ),
      ];
    },
  };
}
