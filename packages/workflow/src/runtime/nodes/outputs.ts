import { getConvexSize, type Value } from "convex/values";
import { describeThrown, Failure } from "../../errors/failure.js";
import { checkedOutput, copied, fromPages, MAX_VALUE_BYTES } from "../../values.js";
import type { Arrival, Arrive, Run } from "../run.js";
import { presentKey } from "../storage-names.js";
import { type AnyNode, insideOf } from "./kinds.js";

/** The most elements of an array in a document or an argument. */
const MAX_ELEMENTS = 8_192;

/** The output of a parent without a finalize, or of a `.child`. */
export async function gather(run: Run, stage: string, next: Arrive): Arrival {
  if (await run.hasResult(stage)) return await next(run);
  const { node, kind } = run.place(stage);
  const gathered = async () => {
    const execute = async () => {
      const { children: paged, ...rest } = await run.scope(stage, ["output", "children"]);
      const outputs = fromPages(paged);
      if (kind.workflow !== undefined) return (outputs as unknown[])[0];
      const { called } = run.place(stage);
      if (insideOf(node).length === 0)
        return checkedSize(called, adviceFor(node), outputs, { ...rest, children: outputs });
      return checkedSize(called, adviceFor(node), outputs, named(node, outputs));
    };
    await run.record({ stage, kind: "children", execute }, next);
  };
  if (node.reduce === undefined) return await gathered();
  await run.reduce(stage, gathered);
}

/** Outputs of branches by their present names. Those of a gone branch keep theirs. */
function named({ branches, cases, reduce }: AnyNode, outputs: unknown): unknown {
  if (cases !== undefined) {
    const won = outputs as { case: string };
    return { ...won, case: presentKey(cases, won.case) };
  }
  // What `reduce` has made of them has no keys.
  if (branches === undefined || reduce !== undefined) return outputs;
  const entries = Object.entries(outputs as object);
  return Object.fromEntries(entries.map(([key, output]) => [presentKey(branches, key), output]));
}

/** Returns what can be done about outputs that are too large, by what the node has. */
function adviceFor(node: AnyNode): string {
  if (node.cases !== undefined)
    return "Have its cases put the data into file storage or a table, and give its id";
  const hasReduce = node.reduce !== undefined;
  if (insideOf(node).length > 0)
    return hasReduce ? "Have its reduce give less" : "Give it a reduce";
  return hasReduce ? "Give the parent a finalize" : "Give the parent a finalize, or a reduce";
}

/** The same checks as for every result, with other advice. */
function checkedSize(called: string, advice: string, outputs: unknown, output: unknown): unknown {
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

const PAGE = 1_000;

/** Reduces the children's outputs in order, in further transactions if need be. */
export async function reduce(run: Run, stage: string, next: Arrive): Arrival {
  if (await run.hasResult(stage)) return await next(run);
  const { outputs, reduced } = run.own.component.lib;
  const { node } = run.place(stage);
  // The compiler may not have seen whether there is one.
  if (node.reduce === undefined) return await next(run);
  try {
    const { initial, step } = node.reduce;
    const parent = { run: run.token.run, ...run.at(stage) };
    let { value: accumulated, from } = await run.ctx.runQuery(reduced, parent);
    // A copy, because `step` may change it.
    if (from === 0) accumulated = copied(initial);
    for (;;) {
      const args = { ...parent, from, most: PAGE, tolerant: node.tolerate !== undefined };
      const page = await run.ctx.runQuery(outputs, args);
      for (const { key, output } of page.outputs) {
        const name = node.branches === undefined ? key : presentKey(node.branches, String(key));
        accumulated = step(accumulated, output, name);
      }
      from += page.outputs.length;
      if (page.isLast) break;
      run.budget.spend(0);
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
