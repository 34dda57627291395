import { HALF_PAIR, wellFormed } from "@stepwise/workpool/core";
import type { ComponentApi } from "../component/_generated/component.js";
import type { ActionCtx, TagValue } from "../definition/context.js";
import type { Tags } from "../definition/definition.js";
import { literalText, MOST_TAGS } from "../rules.js";
import type { WorkflowReference } from "./reference.js";
import { guardedInput, sensitivePaths } from "./sensitive.js";

/** Tags are read with each row of a list. */
const MOST_CHARACTERS = 256;

/** The tags that a workflow gives a run with this input. @throws if they are none, or secret. */
export function tagsOf(
  { name: workflow, definition }: Pick<WorkflowReference<never>, "name" | "definition">,
  input: unknown,
): Record<string, TagValue> | undefined {
  const { tags, sensitive } = definition.options;
  if (tags === undefined) return undefined;
  const why = (path: string) =>
    `The tags of workflow "${workflow}" read ${path}, which is sensitive: tags are shown, so leave it out`;
  const given: Tags = tags(guardedInput(input, sensitivePaths({ sensitive }), why));
  if (literalText(given)[0] !== "{")
    throw new Error(
      `The tags of workflow "${workflow}" are ${literalText(given)}: give an object, such as { org: input.org }`,
    );
  const all = Object.entries(given).flatMap(([name, value]): [string, TagValue][] =>
    value === undefined ? [] : [[name, checkedTag(`A tag of workflow "${workflow}"`, name, value)]],
  );
  if (all.length > MOST_TAGS)
    throw new Error(
      `The tags of workflow "${workflow}" are ${all.length}: a run may have ${MOST_TAGS}`,
    );
  return all.length === 0 ? undefined : Object.fromEntries(all);
}

function checkedTag(subject: string, name: string, value: unknown): TagValue {
  if (typeof value === "string" && wellFormed(value) !== value)
    throw new Error(`${subject}, "${name}", has ${HALF_PAIR}`);
  const isText = typeof value === "string" && value.length <= MOST_CHARACTERS;
  // Tags are shown as the fields of an object.
  if (typeof name !== "string" || name.length > MOST_CHARACTERS || !/^(?![$_])[ -~]+$/.test(name))
    throw new Error(
      `${subject} has the name ${literalText(name)}: write a short one, in ASCII, that does not begin with $ or _`,
    );
  if (isText || typeof value === "boolean" || Number.isFinite(value)) return value as TagValue;
  throw new Error(
    `${subject}, "${name}", is ${literalText(value)}: it may be a number, a boolean, or a text of up to ${MOST_CHARACTERS} characters`,
  );
}

/** Returns what `info.tag` does in an action or a mutation. */
export function tagging(
  ctx: Partial<Pick<ActionCtx, "runMutation">>,
  { lib }: ComponentApi,
  run: string,
) {
  return async (name: string, value: TagValue): Promise<void> => {
    checkedTag("A tag of info.tag", name, value);
    if (ctx.runMutation === undefined)
      throw new Error(`A query cannot tag its run "${name}": do it in a mutation or an action`);
    await ctx.runMutation(lib.tag, { run, name, value });
  };
}
