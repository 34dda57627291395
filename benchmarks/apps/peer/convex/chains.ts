import { defineWorkflow, type WorkflowComponent, type WorkflowCtx } from "@convex-dev/workflow";
import { componentsGeneric } from "convex/server";
import { v } from "convex/values";
import { steps } from "../../references.js";

// Untyped where no app has generated its types; what is mounted there is the workflow component.
const component = componentsGeneric()["workflow"] as unknown as WorkflowComponent;

type Next = (step: WorkflowCtx, n: number, ms: number) => Promise<number>;

/** A workflow of `length` steps, each of which takes the result of the one before it. */
function chain(next: Next) {
  const args = { length: v.number(), ms: v.number() };
  return defineWorkflow(component, { args, returns: v.number() }).handler(
    async (step, { length, ms }): Promise<number> => {
      let n = 0;
      for (let i = 0; i < length; i++) n = await next(step, n, ms);
      return n;
    },
  );
}

export const action = chain((step, n) => step.runAction(steps.act, { n }));
export const busyAction = chain((step, n, ms) => step.runAction(steps.actFor, { n, ms }));
export const mutation = chain((step, n) => step.runMutation(steps.write, { n }));
export const query = chain((step, n) => step.runQuery(steps.read, { n }));

/* Within the workflow's own transaction, which the peer leaves to each call to ask for. */
const inline = { inline: true };
export const inlineMutation = chain((step, n) => step.runMutation(steps.write, { n }, inline));
export const inlineQuery = chain((step, n) => step.runQuery(steps.read, { n }, inline));
