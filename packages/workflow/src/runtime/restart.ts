import type { MutationRunner, QueryRunner } from "@stepwise/workpool/core";
import type { FunctionArgs, FunctionReturnType } from "convex/server";
import type { ComponentApi } from "../component/_generated/component.js";
import type { Beginning } from "../component/validators.js";
import { durationMs } from "../rules.js";
import { asWhole, parsedAgain } from "./collect.js";
import { inputOf } from "./input.js";
import { insideOf, outputsIn } from "./nodes/kinds.js";
import { oneOf } from "./one.js";
import { standingOf } from "./standing.js";
import { placeOf } from "./place.js";
import type { WorkflowReference } from "./reference.js";
import { tagsOf } from "./tags.js";

type Steering = ComponentApi["steering"];

/** How to restart a run. */
interface How {
  /** The storage name of a node of the top level. */
  readonly from: string | undefined;
  readonly iteration?: number | undefined;
  /** Takes the place of the input, unless it is undefined. */
  readonly input?: unknown;
  readonly retentionMs: number | undefined;
}

/**
 * Returns how a run begins.
 * @param retentionMs how long it stays if its workflow does not say.
 * @param isKeyed each start has its permits.
 */
export async function beginningOf(
  workflow: WorkflowReference<never>,
  retentionMs: number | undefined,
  isKeyed = false,
): Promise<Beginning> {
  const begin = await workflow.begin(isKeyed);
  return { ...begin, retentionMs: begin.retentionMs ?? retentionMs };
}

/** Restarts a run by the definition as it is now. @returns why it was not, or that it was. */
export async function restartBy(
  ctx: MutationRunner & QueryRunner,
  { steering }: ComponentApi,
  workflow: WorkflowReference<never>,
  runId: string,
  { from, iteration, input, retentionMs }: How,
): Promise<FunctionReturnType<Steering["restart"]>> {
  const { stored } = workflow;
  // What reads another input is done again, as if it read the first node.
  const replaced = input === undefined ? undefined : from;
  const given = input === undefined ? undefined : asWhole(workflow, inputOf(workflow, input));
  const keeps = { runId, workflow: workflow.storedAs };
  const kept = given === undefined ? await ctx.runQuery(steering.keptInput, keeps) : null;
  // The kept one is replaced if the present schema gives something else.
  const next = given ?? (kept === null ? undefined : parsedAgain(workflow, kept));
  // There is none of a run that cannot be restarted, which the component says.
  const begins = next ?? kept;
  return await ctx.runMutation(steering.restart, {
    runId,
    begin: await beginningOf(workflow, retentionMs),
    nodes: Object.keys(stored.nodes).map((node) => ({
      name: node,
      stage: placeOf(stored, node).first,
      reads: workflow.nodeReads(node).map((read) => (read === "input" && replaced) || read),
    })),
    from,
    loop: loopAt(workflow, from, iteration),
    input: next,
    one: begins === null ? undefined : oneOf(workflow, begins.input),
    standing: begins === null ? undefined : standingOf(workflow, begins.input),
    tags: next && tagsOf(workflow, next.input),
  });
}

type Loop = FunctionArgs<Steering["restart"]>["loop"];

/**
 * Returns where a restart from a node begins, if that is a loop. @throws if it is none, but has to
 * be.
 */
function loopAt(
  { name: workflow, stored }: WorkflowReference<never>,
  path: string | undefined,
  iteration: number | undefined,
): Loop {
  const { node, kind, called } = placeOf(stored, path ?? "");
  const [body] = kind.repeats ? insideOf(node) : [];
  if (path === undefined || body === undefined) {
    if (iteration === undefined) return undefined;
    const why = path === undefined ? "from is not given" : `"${called}" is no loop`;
    throw new Error(
      `Restarting "${workflow}": iteration is ${iteration}, and ${why}: give its loop as from`,
    );
  }
  const [first] = Object.keys(body.nodes);
  const last = outputsIn(body.nodes).at(-1);
  const ms = node.timeout === undefined ? undefined : durationMs(node.timeout);
  return {
    first: placeOf(stored, `${path}.${first}`).first,
    last: last === undefined ? null : `${path}.${last}`,
    deadline:
      ms === undefined
        ? undefined
        : { stage: path, called: called === path ? undefined : called, ms },
    iteration,
  };
}
