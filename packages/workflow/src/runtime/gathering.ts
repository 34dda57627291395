import type { Token } from "../component/validators.js";
import type { MutationCtx } from "../definition/context.js";
import { parsedAgain, sizeOf } from "./collect.js";
import type { Bound } from "./functions.js";
import { madeOf, makesSomething } from "./made.js";
import { referenceTo } from "./reference.js";

/**
 * A run that has collected starts begins: it gets their items, by the `collect` as it is now, and
 * what is made of them. If there is none any more, each start has a run of its own.
 */
export async function begunWithItems(
  ctx: Pick<MutationCtx, "runMutation">,
  own: Bound,
  token: Token,
): Promise<null> {
  const { gather, gathered } = own.component.lib;
  const { options, nodes } = own.definition;
  const { collect } = options;
  const isRemoved = Object.keys(nodes).length === 0;
  const how = collect === undefined ? {} : { size: sizeOf(collect), keep: collect.keep };
  const kept = await ctx.runMutation(gather, { token, how: isRemoved ? undefined : how });
  if (kept === null || !makesSomething(options)) return null;
  const reference = referenceTo(own, own.definition);
  const isSame = own.plan === undefined || own.plan === token.plan;
  const again = isSame ? undefined : parsedAgain(reference, kept);
  const { input } = again ?? kept;
  await ctx.runMutation(gathered, { token, ...madeOf(reference, input) });
  return null;
}
