import { HALF_PAIR, wellFormed } from "@stepwise/workpool/core";
import { literalText } from "../rules.js";
import type { WorkflowReference } from "./reference.js";
import { guarded } from "./tags.js";

/** Keys are part of an index. */
const MOST_CHARACTERS = 256;

/** An option of a workflow that has a key. */
interface Keyed {
  readonly option: "one" | "collect" | "fairness";
  readonly key: (scope: never) => unknown;
  /** The paths of the input that are not shown. */
  readonly sensitive: readonly string[];
}

/** @returns undefined without a key. @throws if it is not valid, or reads a sensitive value. */
export function keyMade(
  { name: workflow }: Pick<WorkflowReference<never>, "name">,
  { option, key: make, sensitive }: Keyed,
  input: unknown,
): string | undefined {
  const subject = `The key of the ${option} of workflow "${workflow}"`;
  const refuse = (path: string): never => {
    throw new Error(
      `${subject} reads ${path}, which is sensitive: keys are shown, so leave it out`,
    );
  };
  const scope =
    sensitive.length === 0 ? { input } : guarded({ input }, "", new Set(sensitive), refuse);
  const key = make(scope as never);
  if (key === undefined) return undefined;
  if (typeof key === "string" && wellFormed(key) !== key)
    throw new Error(`${subject} has ${HALF_PAIR}`);
  if (typeof key === "string" && key !== "" && key.length <= MOST_CHARACTERS) return key;
  throw new Error(
    `${subject} is ${literalText(key)}: it may be a text of 1 to ${MOST_CHARACTERS} characters, or undefined`,
  );
}
