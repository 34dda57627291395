import { HALF_PAIR, wellFormed } from "@stepwise/workpool/core";
import { literalText } from "../rules.js";
import type { WorkflowReference } from "./reference.js";
import { guardedInput } from "./sensitive.js";

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
  const why = (path: string) =>
    `${subject} reads ${path}, which is sensitive: keys are shown, so leave it out`;
  const key = make(guardedInput(input, sensitive, why) as never);
  if (key === undefined) return undefined;
  if (typeof key === "string" && wellFormed(key) !== key)
    throw new Error(`${subject} has ${HALF_PAIR}`);
  if (typeof key === "string" && key !== "" && key.length <= MOST_CHARACTERS) return key;
  throw new Error(
    `${subject} is ${literalText(key)}: it may be a text of 1 to ${MOST_CHARACTERS} characters, or undefined`,
  );
}
