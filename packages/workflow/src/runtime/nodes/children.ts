import { getConvexSize, type Value } from "convex/values";
import type { NewChild, NewChildren } from "../../component/validators.js";
import { describeThrown, Failure } from "../../errors/failure.js";
import { beginningsOf, checkKeys, entriesOf, parsedInput, Pages } from "../new-children.js";
import { unpacked } from "../../packing.js";
import { canWait, placeOf } from "../place.js";
import type { WorkflowReference } from "../reference.js";
import { checkConcurrency, checkTolerate, optionOf } from "../options.js";
import type { Arrival, Arrive, OfScope, Run } from "../run.js";
import { checkedOutput, copied } from "../../values.js";

/** Of all inputs together: they are written by one transaction, which may write 16 MiB. */
const MAX_INPUT_BYTES = 8 * 1024 * 1024;

/** A parent's children: evaluated once, their inputs parsed, and handed to the component in pages. */
export async function children(
  run: Run,
  stage: string,
  reads: readonly string[],
  given: OfScope,
  references: readonly WorkflowReference<never>[],
): Arrival {
  const { transaction } = run;
  // What was executed here may leave too little of the transaction for inserting them.
  if (await transaction.isFull()) return transaction.goTo(stage, reads);
  try {
    const { node, called } = placeOf(transaction.own.definition, stage);
    const { concurrency, tolerate } = node;
    const of = optionOf(transaction.own.workflow, called);
    checkConcurrency(of("concurrency"), concurrency);
    checkTolerate(of("tolerate"), tolerate);
    const value = given(
      (await transaction.copiedScope({ stage, function: "children" }, reads)) as never,
    );
    transaction.beginDeadline(stage);
    transaction.goOn({
      kind: "children",
      children: {
        ...transaction.facts(stage),
        ...(await newChildren(called, value, references)),
        ...(concurrency === undefined ? {} : { concurrency }),
        ...(tolerate === undefined ? {} : { tolerate }),
      },
    });
  } catch (error) {
    await transaction.failOrRecover(stage, describeThrown(error), run);
  }
}

/**
 * What `children` gave, as the component takes it: in order, with keys for a record, each input parsed. An input that does not fit its
 * schema fails its child, not the parent. Where some may wait without a slot of the pool, all of them are to run at once: else those that
 * wait would keep others from beginning, for good where nobody ends their wait before all have begun.
 */
async function newChildren(
  stage: string,
  given: unknown,
  references: readonly WorkflowReference<never>[],
): Promise<Pick<NewChildren, "begins" | "pages" | "keyed" | "concurrency">> {
  const keyed = !Array.isArray(given);
  const entries = entriesOf(stage, given);
  if (keyed) checkKeys(stage, entries);
  const beginnings = beginningsOf(references);
  const pages = new Pages();
  let waits = false;
  for (const [key, child] of entries) {
    const { begin, reference } = await beginnings.of(stage, key, child.workflow);
    const parsed = parsedInput(reference, child.input);
    waits ||= canWait(reference.definition);
    pages.add({ begin, ...(keyed ? { key } : {}), ...parsed });
  }
  checkSize(stage, pages.bytes);
  return {
    begins: beginnings.all,
    pages: pages.all,
    keyed,
    ...(waits ? { concurrency: Infinity } : {}),
  };
}

function checkSize(stage: string, bytes: number): void {
  if (bytes <= MAX_INPUT_BYTES) return;
  throw new Failure(
    "tooLarge",
    `The inputs of the children of "${stage}" take ${bytes} bytes together; at most ${MAX_INPUT_BYTES} can be stored. Put the data into file storage or a table, and pass ids`,
  );
}

/** A `.child`: the same with one run of the one workflow. */
export async function child(
  run: Run,
  stage: string,
  reads: readonly string[],
  args: OfScope,
  reference: WorkflowReference<never>,
): Arrival {
  const { transaction } = run;
  if (await transaction.isFull()) return transaction.goTo(stage, reads);
  try {
    const input = args(
      (await transaction.copiedScope({ stage, function: "args" }, reads)) as never,
    );
    const only: NewChild = { begin: 0, ...parsedInput(reference, input) };
    transaction.goOn({
      kind: "children",
      children: {
        ...transaction.facts(stage),
        begins: [await reference.begin()],
        pages: [[only]],
        keyed: false,
        single: true,
      },
    });
  } catch (error) {
    await transaction.failOrRecover(stage, describeThrown(error), run);
  }
}

/** As many elements as an array may have that crosses a function boundary, or stands in a document. */
const MAX_ELEMENTS = 8_192;

/** The outputs of a parent's children become its own, beside that of its handler; that of a `.child` is the child's. */
export async function gather(run: Run, stage: string, next: Arrive): Arrival {
  const { transaction } = run;
  const { node } = placeOf(transaction.own.definition, stage);
  if (node.workflow !== undefined) {
    const only = async () =>
      ((await transaction.scope(stage, ["children"])).children as unknown[])[0];
    return await transaction.record({ stage, kind: "children", execute: only }, next, run);
  }
  if (node.reduce === undefined) return await gathered(run, stage, next);
  await reduce(run, stage, (after) => gathered(after, stage, next));
}

async function gathered(run: Run, stage: string, next: Arrive): Arrival {
  const { transaction } = run;
  const called = transaction.called(stage);
  const execute = async () => {
    const { children: packed, ...rest } = await transaction.scope(stage, ["output", "children"]);
    const outputs = unpacked(packed);
    if (Array.isArray(outputs) && outputs.length > MAX_ELEMENTS)
      throw new Failure(
        "tooLarge",
        `"${called}" has ${outputs.length} children; a list of their outputs can have ${MAX_ELEMENTS} elements. Give the parent a finalize, or a reduce`,
      );
    const output = { ...rest, children: outputs as Value };
    const bytes = getConvexSize(output as Value);
    if (bytes > MAX_GATHERED_BYTES)
      throw new Failure(
        "tooLarge",
        `The outputs of the children of "${called}" take ${bytes} bytes together; at most ${MAX_GATHERED_BYTES} can be stored as its output. Give the parent a finalize, or a reduce`,
      );
    return output;
  };
  await transaction.record({ stage, kind: "children", execute }, next, run);
}

/** The same as for every result, but the hint is another. */
const MAX_GATHERED_BYTES = 1_000_000;

/** How many outputs are folded in one go, and how many bytes of them one transaction folds at most. */
const PAGE = 1_000;

/** Folds the outputs of a parent's children, in order; as many as fit into this transaction, then the rest in others. */
export async function reduce(run: Run, stage: string, next: Arrive): Arrival {
  const { transaction } = run;
  const { own, token } = transaction;
  const { node } = placeOf(own.definition, stage);
  try {
    const { initial, step } = node.reduce;
    const parent = { run: token.run, ...transaction.at(stage) };
    let { value: accumulated, from } = await transaction.ctx.runQuery(
      own.component.reduce.reduced,
      parent,
    );
    // A copy: what is folded into it is no part of the definition.
    if (from === 0) accumulated = copied(initial);
    for (;;) {
      const page = await transaction.ctx.runQuery(own.component.reduce.outputs, {
        ...parent,
        from,
        most: PAGE,
        tolerant: node.tolerate !== undefined,
      });
      for (const { key, output } of page.outputs) accumulated = step(accumulated, output, key);
      from += page.outputs.length;
      if (page.isLast) break;
      transaction.spend();
      if (await transaction.isClosed())
        return transaction.goOn({
          kind: "reduce",
          ...transaction.at(stage),
          accumulated: checkedOutput(stage, accumulated),
          from,
        });
    }
    transaction.folded(stage, checkedOutput(stage, accumulated));
  } catch (error) {
    return await transaction.failOrRecover(stage, describeThrown(error), run);
  }
  await next(run);
}
