import { createFunctionHandle } from "convex/server";
import type { ActionFunction } from "../component/validators.js";
import type { AnyDefinition } from "../definition/definition.js";
import { durationMs } from "../rules.js";
import type { Functions } from "./functions.js";
import { checkRetry, optionOf } from "./options.js";
import { placeOf } from "./place.js";
import { policyOf } from "./reads.js";

/**
 * The function of an action stage, as the component schedules and watches it.
 * @throws where the stage's `timeout` is no duration, or no attempt could be made by its `retry`.
 */
export async function actionFunction(
  workflow: string,
  functions: Functions,
  definition: AnyDefinition,
  stage: string,
): Promise<ActionFunction> {
  const { timeout, retry = definition.options.retry } = policyOf(definition, stage);
  const of = optionOf(workflow, placeOf(definition, stage).called);
  checkRetry(of("retry"), retry);
  const fn = await createFunctionHandle(functions.action(stage));
  return timeout === undefined ? { fn } : { fn, timeoutMs: durationMs(timeout, of("timeout")) };
}
