import { getConvexSize, type Value } from "convex/values";
import { describeThrown, Failure } from "../../errors/failure.js";
import { checkedOutput, copied, fromPages, MAX_VALUE_BYTES } from "../../values.js";
import { newChildren, parsedInput } from "../new-children.js";
import { checkConcurrency, checkTolerate, optionOf } from "../options.js";
import { placeOf } from "../place.js";
import type { WorkflowReference } from "../reference.js";
import type { Arrival, Arrive, OfScope, Run } from "../run.js";
import { kindOf } from "./kinds.js";

/** Evaluates a parent's children, once, and starts them: the component gets them in pages. */
export async function children(
  run: Run,
  stage: string,
  reads: readonly string[],
  given: OfScope,
  references: readonly WorkflowReference<never>[],
): Arrival {
  await run.arrive(stage, reads, undefined, async ({ node, called }) => {
    const { concurrency, tolerate } = node;
    checkConcurrency(optionOf(run.own, stage, "concurrency"), concurrency);
    checkTolerate(optionOf(run.own, stage, "tolerate"), tolerate);
    const value = given(await run.scopeFor(stage, "children", reads));
    run.beginDeadline(stage);
    const made = await newChildren(called, value, references);
    const limits = { concurrency: concurrency ?? made.concurrency, tolerate };
    run.goOn({ kind: "children", children: { ...run.facts(stage), ...made, ...limits } });
  });
}

/** A `.child`: one run of a workflow, with the input that `args` gives. */
export async function child(
  run: Run,
  stage: string,
  reads: readonly string[],
  args: OfScope,
  reference: WorkflowReference<never>,
): Arrival {
  await run.arrive(stage, reads, undefined, async () => {
    const input = args(await run.scopeFor(stage, "args", reads));
    const pages = [[{ begin: 0, ...parsedInput(reference, input) }]];
    const begins = [await reference.begin()];
    const only = { ...run.facts(stage), begins, pages, keyed: false, single: true };
    run.goOn({ kind: "children", children: only });
  });
}

/** The most elements of an array in a document or an argument. */
const MAX_ELEMENTS = 8_192;

/** The output of a parent without a finalize, or of a `.child`. */
export async function gather(run: Run, stage: string, next: Arrive): Arrival {
  if (await run.isKept(stage)) return await next(run);
  const { node } = placeOf(run.own.definition, stage);
  const gathered = async () => {
    const execute = async () => {
      const { children: paged, ...rest } = await run.scope(stage, ["output", "children"]);
      const outputs = fromPages(paged);
      return kindOf(node).workflow !== undefined
        ? (outputs as unknown[])[0]
        : checkedSize(run.called(stage), { ...rest, children: outputs });
    };
    await run.record({ stage, kind: "children", execute }, next);
  };
  if (node.reduce === undefined) return await gathered();
  await run.reduce(stage, gathered);
}

/** The same checks as for every result, with other advice. */
function checkedSize(called: string, output: { children: unknown }): typeof output {
  const advice = "Give the parent a finalize, or a reduce";
  const { children: outputs } = output;
  if (Array.isArray(outputs) && outputs.length > MAX_ELEMENTS)
    throw new Failure(
      "tooLarge",
      `"${called}" has ${outputs.length} children; a list of their outputs can have ${MAX_ELEMENTS} elements. ${advice}`,
    );
  const bytes = getConvexSize(output as Value);
  if (bytes > MAX_VALUE_BYTES)
    throw new Failure(
      "tooLarge",
      `The outputs of the children of "${called}" take ${bytes} bytes together; at most ${MAX_VALUE_BYTES} can be stored as its output. ${advice}`,
    );
  return output;
}

/** How many outputs are read at once. */
const PAGE = 1_000;

/** Reduces the children's outputs in order, in further transactions if need be. */
export async function reduce(run: Run, stage: string, next: Arrive): Arrival {
  if (await run.isKept(stage)) return await next(run);
  const { reduce: reducing } = run.own.component;
  const { node } = placeOf(run.own.definition, stage);
  try {
    const { initial, step } = node.reduce;
    const parent = { run: run.token.run, ...run.at(stage) };
    let { value: accumulated, from } = await run.ctx.runQuery(reducing.reduced, parent);
    // A copy, because `step` may change it.
    if (from === 0) accumulated = copied(initial);
    for (;;) {
      const tolerant = node.tolerate !== undefined;
      const args = { ...parent, from, most: PAGE, tolerant };
      const page = await run.ctx.runQuery(reducing.outputs, args);
      for (const { key, output } of page.outputs) accumulated = step(accumulated, output, key);
      from += page.outputs.length;
      if (page.isLast) break;
      run.spend();
      if (!(await run.isClosed())) continue;
      accumulated = checkedOutput(stage, accumulated);
      return run.goOn({ kind: "reduce", ...run.at(stage), accumulated, from });
    }
    run.reduced(stage, checkedOutput(stage, accumulated));
  } catch (error) {
    return await run.fail(stage, describeThrown(error));
  }
  await next(run);
}
