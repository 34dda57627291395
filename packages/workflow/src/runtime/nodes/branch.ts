import { isPromise } from "@stepwise/workpool/core";
import { Failure } from "../../errors/failure.js";
import { literalText } from "../../rules.js";
import { presentKey, storageKey } from "../storage-names.js";
import type { Arrival, Arrive, OfScope, Run } from "../run.js";

/** Goes on with the case that `on` names. The branch's record is there from now on. */
export async function branch(
  run: Run,
  stage: string,
  on: OfScope,
  cases: Readonly<Record<string, Arrive>>,
  next: Arrive,
): Arrival {
  await run.arrive(stage, next, async ({ node, called }) => {
    const key = on(await run.scopeFor(stage, "on"));
    if (isPromise(key))
      throw new Failure("thrown", `The on of branch "${called}" must not be async`);
    const isKey = typeof key === "string" || typeof key === "number";
    const chosen = isKey ? storageKey(node.cases, String(key)) : undefined;
    const arrive = chosen === undefined ? undefined : cases[chosen];
    if (arrive === undefined) {
      const names = Object.keys(node.cases).map((each) => presentKey(node.cases, each));
      // An object may have no text.
      const isText = !isKey && Object(key) !== key && names.includes(String(key));
      const hint = isText
        ? `. A key is a string or a number: give String(${literalText(key)})`
        : "";
      throw new Failure(
        "thrown",
        `The ${node.kind} "${called}" has no case ${literalText(key)}; it has ${names.join(", ")}${hint}`,
      );
    }
    run.open({ ...run.begun(stage, "branch"), chosen });
    return arrive;
  });
}

export async function endBranch(run: Run, stage: string, from: string | null, next: Arrive) {
  const output = await run.outputOf(from);
  run.add({ ...run.begun(stage, "branch"), output, exists: true });
  await next(run);
}

/** The run ends inside it: it is over, and has no output. */
export function leaveBranch(run: Run, stage: string): void {
  run.open({ ...run.begun(stage, "branch"), exists: true, isOver: true });
}
