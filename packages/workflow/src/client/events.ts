import { checkText, type MutationRunner } from "@stepwise/workpool/core";
import type { FunctionArgs } from "convex/server";
import { compareValues, type Value } from "convex/values";
import type { ComponentApi } from "../component/_generated/component.js";
import type { Given } from "../component/validators.js";
import type { AnyDefinition } from "../definition/definition.js";
import { Failure } from "../errors/failure.js";
import { suggestion } from "../rules.js";
import { parsedOf, parseValue, PASS_AN_ID } from "../runtime/input.js";
import { eventNamed, receiversOf, storedEvent } from "../runtime/nodes/event.js";
import { placeOf } from "../runtime/place.js";
import type { WorkflowReference } from "../runtime/reference.js";
import { checkCompiled, described, runArgs, type RunOrKey } from "./which-run.js";

/** The payloads by event; unknown of a workflow that is known by its reference only. */
type EventsOf<Workflow> = Workflow extends { readonly "~events"?: () => infer Events }
  ? Events
  : unknown;

/** The names of the events that some node of a workflow waits for. */
export type EventName<Workflow> = NameIn<EventsOf<Workflow>>;

type NameIn<Events> = Events extends unknown
  ? unknown extends Events
    ? string
    : keyof Events & string
  : never;

/** What is sent with an event: the input of its node's schema. */
export type EventPayload<Workflow, Name> = PayloadIn<EventsOf<Workflow>, Name>;

type PayloadIn<Events, Name> = Events extends unknown
  ? unknown extends Events
    ? unknown
    : Events[Name & keyof Events]
  : never;

/** The words of messages for the states in which a run takes no events. */
const ENDS: { readonly [State in string]?: string } = {
  compensating: "being undone",
  timedOut: "timed out",
};

type Receiver = FunctionArgs<ComponentApi["events"]["send"]>["receivers"][number];

/** See `WorkflowManager.sendEvent`. */
export async function sendEvent(
  component: ComponentApi,
  ctx: MutationRunner,
  reference: WorkflowReference<never>,
  which: RunOrKey,
  name: string,
  payload: unknown,
): Promise<"taken" | "kept"> {
  checkCompiled(reference);
  checkText(`Sending an event to "${reference.name}"`, "its name", name);
  const { storedAs: workflow, stored } = reference;
  const { problems, ...event } = parsed(reference.name, stored, name, payload);
  const run = runArgs([reference, which]);
  const sent = await ctx.runMutation(component.events.send, { ...run, workflow, ...event });
  const cannot = `Cannot send "${name}" to ${described([reference, which])}`;
  const refused = (why: string) => new Error(`${cannot}: ${why}`);
  switch (sent.kind) {
    case "taken":
    case "kept":
      return sent.kind;
    case "unknown":
      throw refused("there is no such run");
    case "ended":
      throw refused(`the run is ${ENDS[sent.state] ?? sent.state}, so it takes no more events`);
    case "elsewhere": {
      const { called } = placeOf(stored, sent.stage);
      throw refused(
        `"${called}" is in a run of its own: send it to that, by the runId of its info, or as workflow.waits gives it`,
      );
    }
    case "past":
      throw refused("it is past every node that takes such an event");
    case "full":
      throw refused(`it keeps ${sent.kept} of them, one for each node that will still take one`);
    case "unmatched": {
      const { called } = placeOf(stored, sent.stage);
      if (sent.why !== undefined) throw refused(`the match of "${called}" failed: ${sent.why}`);
      throw refused(`"${called}" waits for another one, and no node after it takes this one`);
    }
    case "tooLarge":
      throw new Failure(
        "tooLarge",
        `${cannot}: as each of its nodes takes it, it takes ${sent.bytes} bytes in all; at most ${sent.most} can be kept. ${PASS_AN_ID}`,
      );
    default:
      throw refused(problems.get(sent.stage)?.message ?? "the node does not take it");
  }
}

/** The payload as each node of the name takes it. @throws if none does. */
function parsed(workflow: string, definition: AnyDefinition, name: string, payload: unknown) {
  const all = receiversOf(definition);
  const named = all.filter((one) => one.name === name);
  if (named.length === 0) {
    const known = [...new Set(all.map((one) => one.name))];
    throw new Error(
      `No node of workflow "${workflow}" waits for an event "${name}"${suggestion(name, known)}`,
    );
  }
  const problems = new Map<string, Failure>();
  const receivers: Receiver[] = [];
  let common: { value: Value } | undefined;
  let given: Given | undefined;
  for (const { stage, schema, sensitive, matches, loop, within, races } of named) {
    const place = { stage, loop, within, races };
    try {
      const event = eventNamed(definition, workflow, { stage, name, sensitive });
      const { value, given: raw } = parsedOf((each) => parseValue(event, schema, each), payload);
      common ??= { value };
      given ??= raw;
      const its = compareValues(value, common.value) === 0 ? undefined : value;
      receivers.push({ ...place, matches: matches || undefined, value: its });
    } catch (error) {
      problems.set(stage, Failure.from(error));
      receivers.push({ ...place, refuses: true });
    }
  }
  const [problem] = problems.values();
  if (problem !== undefined && common === undefined) throw problem;
  const stored = storedEvent(all, name);
  const others = all.filter(
    (one) => one.name !== name && [one.stored, storedEvent(all, one.name)].includes(stored),
  );
  return {
    name: stored,
    value: common?.value ?? null,
    given,
    receivers,
    others: others.length === 0 ? undefined : others.map(({ stage }) => stage),
    problems,
  };
}
