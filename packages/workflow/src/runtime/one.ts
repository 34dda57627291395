import type { One } from "../component/validators.js";
import { literalText } from "../rules.js";
import type { WorkflowReference } from "./reference.js";
import { sensitivePaths } from "./secrets.js";
import { guarded } from "./tags.js";

/** Keys are part of an index. */
const MOST_CHARACTERS = 256;

/**
 * The key of a workflow's `one` for a run with this input, and what happens while it is taken;
 * undefined without a `one` or a key. @throws if the key is none, or is made of what is sensitive.
 */
export function oneOf(
  { name: workflow, definition }: Pick<WorkflowReference<never>, "name" | "definition">,
  input: unknown,
): One | undefined {
  const { one, sensitive } = definition.options;
  if (one === undefined) return undefined;
  const secret = new Set(sensitivePaths({ sensitive }));
  const refuse = (path: string): never => {
    throw new Error(
      `The key of the one of workflow "${workflow}" reads ${path}, which is sensitive: keys are shown, so leave it out`,
    );
  };
  const scope = secret.size === 0 ? { input } : guarded({ input }, "", secret, refuse);
  const key: unknown = one.key(scope as { input: never });
  if (key === undefined) return undefined;
  if (typeof key === "string" && key !== "" && key.length <= MOST_CHARACTERS)
    return { key, otherwise: one.otherwise };
  throw new Error(
    `The key of the one of workflow "${workflow}" is ${literalText(key)}: it may be a text of 1 to ${MOST_CHARACTERS} characters, or undefined`,
  );
}
