import type { Token } from "../component/validators.js";
import type { ActionCtx, StepError } from "../definition/context.js";
import { describeThrown } from "../errors/failure.js";
import { parsedAgain } from "./collect.js";
import type { Bound } from "./functions.js";
import { referenceTo } from "./reference.js";
import { tagsOf } from "./tags.js";

/** The node that errors of a run's input name. No node has this name. */
export const INPUT = "input";

type Begun = { input?: unknown } | { error: StepError };

/**
 * Returns what has changed of the input of a run that begins now, under another plan than that
 * under which it was started: it is parsed again. It costs a query, and only after a deploy.
 */
export async function inputAtBeginning(
  ctx: Pick<ActionCtx, "runQuery" | "runMutation">,
  own: Bound,
  token: Token,
): Promise<Begun> {
  const { plan, attempt } = token;
  if (own.plan === undefined || !plan || plan === own.plan || attempt > 1) return {};
  const { unbegun, reparsed, unlock } = own.component.lib;
  const kept = await ctx.runQuery(unbegun, { token });
  if (kept === null) return {};
  const { hasTurn, ...input } = kept;
  const isOpen = own.definition.options.one === undefined;
  if (hasTurn === true && isOpen) await ctx.runMutation(unlock, { token });
  try {
    const again = parsedAgain(referenceTo(own, own.definition), input);
    if (again === undefined) return {};
    const { workflow: name, definition } = own;
    const tags = tagsOf({ name, definition }, again.input);
    await ctx.runMutation(reparsed, { token, ...again, tags });
    return { input: again.input };
  } catch (error) {
    const at = { workflow: own.workflow, node: INPUT, attempt };
    return { error: { ...describeThrown(error), ...at } };
  }
}
