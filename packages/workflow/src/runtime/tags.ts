import { HALF_PAIR, wellFormed } from "@stepwise/workpool/core";
import type { ComponentApi } from "../component/_generated/component.js";
import type { ActionCtx, TagValue } from "../definition/context.js";
import type { Tags } from "../definition/definition.js";
import { literalText, MOST_TAGS } from "../rules.js";
import type { WorkflowReference } from "./reference.js";
import { sensitivePaths } from "./sensitive.js";

/** Tags are read with each row of a list. */
const MOST_CHARACTERS = 256;

/** The tags that a workflow gives a run with this input. @throws if they are none, or secret. */
export function tagsOf(
  { name: workflow, definition }: Pick<WorkflowReference<never>, "name" | "definition">,
  input: unknown,
): Record<string, TagValue> | undefined {
  const { tags, sensitive } = definition.options;
  if (tags === undefined) return undefined;
  const secret = new Set(sensitivePaths({ sensitive }));
  const refuse = (path: string): never => {
    throw new Error(
      `The tags of workflow "${workflow}" read ${path}, which is sensitive: tags are shown, so leave it out`,
    );
  };
  const scope = guarded({ input }, "", secret, refuse) as { input: never };
  const given: Tags = secret.size === 0 ? tags({ input: input as never }) : tags(scope);
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

/** The same value, in which what is at the paths throws when it is read. */
export function guarded(
  value: unknown,
  path: string,
  secret: ReadonlySet<string>,
  refuse: (path: string) => never,
): unknown {
  // A path goes through lists.
  if (Array.isArray(value)) return value.map((each) => guarded(each, path, secret, refuse));
  if (typeof value !== "object" || value === null || value instanceof ArrayBuffer) return value;
  const object = {};
  for (const [key, field] of Object.entries(value)) {
    const at = path === "" ? key : `${path}.${key}`;
    const get = () => (secret.has(at) ? refuse(at) : guarded(field, at, secret, refuse));
    Object.defineProperty(object, key, { get, enumerable: true });
  }
  return object;
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
