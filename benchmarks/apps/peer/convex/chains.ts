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

/* Nodes of other kinds: the same number of them. */
export const fanOut = defineWorkflow(component, {
  args: { length: v.number(), ms: v.number() },
  returns: v.number(),
}).handler(async (step, { length }): Promise<number> => {
  const children = Array.from({ length }, () => step.runAction(steps.act, { n: 0 }));
  return (await Promise.all(children)).reduce((sum, n) => sum + n, 0);
});
/** Each of two kinds of branches, with queries in the workflow's own transaction. */
function branches(branch: (step: WorkflowCtx) => Promise<number>) {
  return defineWorkflow(component, {
    args: { length: v.number(), ms: v.number() },
    returns: v.number(),
  }).handler(async (step, { length }): Promise<number> => {
    const all = Array.from({ length }, () => branch(step));
    return (await Promise.all(all)).reduce((sum, n) => sum + n, 0);
  });
}
export const queryBranches = branches((step) => step.runQuery(steps.read, { n: 0 }, inline));
export const mixedBranches = branches(async (step) => {
  const n = await step.runQuery(steps.read, { n: -1 }, inline);
  return await step.runAction(steps.act, { n });
});
export const pairs = chain(async (step, n) => {
  const read = () => step.runQuery(steps.read, { n: 0 }, inline);
  const [one] = await Promise.all([read(), read()]);
  return n + one;
});
/** The first of them wins; the others go on for nothing, as nothing cancels them. */
export const race = defineWorkflow(component, {
  args: { length: v.number(), ms: v.number() },
  returns: v.number(),
}).handler(async (step, { length }): Promise<number> => {
  const first = step.runAction(steps.act, { n: length - 1 });
  const others = Array.from({ length: length - 1 }, () =>
    step.runAction(steps.actFor, { n: 0, ms: 1_000 }),
  );
  return await Promise.race([first, ...others]);
});
export const busyFanOut = defineWorkflow(component, {
  args: { length: v.number(), ms: v.number() },
  returns: v.number(),
}).handler(async (step, { length, ms }): Promise<number> => {
  const children = Array.from({ length }, () => step.runAction(steps.actFor, { n: 0, ms }));
  return (await Promise.all(children)).reduce((sum, n) => sum + n, 0);
});
export const sleeps = chain(async (step, n) => {
  await step.sleep(1_000);
  return n + 1;
});
export const events = chain(async (step, n) => {
  const one: number = await step.awaitEvent({ name: "one", validator: v.number() });
  return n + one;
});

/** How long the action takes that follows a wait. */
const AFTERWARDS_MS = 200;

/* A wait, and then an action. */
export const wakes = chain(async (step, n, ms) => {
  await step.sleep(ms);
  return await step.runAction(steps.actFor, { n, ms: AFTERWARDS_MS });
});
export const answered = chain(async (step, n) => {
  const one: number = await step.awaitEvent({ name: "one", validator: v.number() });
  return await step.runAction(steps.actFor, { n: n + one - 1, ms: AFTERWARDS_MS });
});
