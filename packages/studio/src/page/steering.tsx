import { useState } from "react";
import type { EventSummary, ShownRun } from "../data-source.js";
import { type Shape, unknown } from "../input-shape.js";
import { InputForm, inputOf } from "./input-form.js";
import { LastInput } from "./last-input.js";
import { partName } from "./names.js";
import { ActionButton } from "./parts.js";
import { Restart } from "./restart.js";
import { goTo, useStudio, useWatched } from "./studio.js";

/** Sends an event that the run or a branch takes, with a payload of its form to fill in. */
function SendEvent(props: {
  runId: string;
  /** What the run is called. */
  to: string;
  names: readonly string[];
  /** Undefined until they are loaded. */
  known: readonly EventSummary[] | undefined;
  /** Says whether the run waits for one now. */
  isAwaited: boolean;
}) {
  const { server } = useStudio();
  const { runId, to, names, known, isAwaited } = props;
  const [chosen, setChosen] = useState("");
  const name = chosen || names[0]!;
  const { payload: shape = unknown, example = {} } =
    known?.find((each) => each.name === name) ?? {};
  return (
    <ActionButton
      label="Send an event"
      {...(isAwaited && { tone: "primary" })}
      question={`Send an event to ${to}`}
      // While it is open, the form stays, whatever the run waits for by then.
      onOpen={() => setChosen(names[0]!)}
      act={async (form) => {
        if (known === undefined) throw new Error("The form is not loaded yet.");
        await server.write("sendEvent", { runId, name, payload: inputOf(form, shape) });
      }}
    >
      <label>
        Event
        <select value={name} onChange={({ target }) => setChosen(target.value)}>
          {[...new Set([...names, name])].map((each) => (
            <option key={each}>{each}</option>
          ))}
        </select>
      </label>
      {known !== undefined && (
        <InputForm key={name} title="Payload" shape={shape} example={example} />
      )}
    </ActionButton>
  );
}

/** Starts another run with the input of this one, which can be edited before. */
function RunAgain({ status, shape }: { status: ShownRun; shape: Shape }) {
  const { server } = useStudio();
  const [isOpen, setOpen] = useState(false);
  const { runId, workflow } = status;
  return (
    <ActionButton
      label="Run again"
      question={`Start another run of ${workflow} with this input?`}
      onOpen={() => setOpen(true)}
      act={async (form) => {
        if (!form.has("loaded")) throw new Error("The input is not loaded yet.");
        const of = { workflow, input: inputOf(form, shape), again: runId };
        await goTo(server.write("start", of).then((started) => `#/runs/${started}`));
      }}
    >
      {isOpen && <LastInput runId={runId} shape={shape} />}
    </ActionButton>
  );
}

/** Shows what can be done with a run in its state. */
export function Steering({ status }: { status: ShownRun }) {
  const { server } = useStudio();
  const { runId, state, workflow, isRemoved = false } = status;
  const workflows = useWatched("workflows", {});
  const {
    input: shape = unknown,
    events: all = workflows.value && [],
    isSensitive,
    plan,
  } = workflows.value?.find(({ name }) => name === workflow) ?? {};
  const awaited = status.active.flatMap((node) => node.events ?? []);
  // A branch or an item takes its own, and a race those of its cases. An early one is kept.
  const known = all?.filter(({ within }) => within === status.within);
  const events = [...new Set([...awaited, ...(known ?? []).map(({ name }) => name)])];
  const goesOn = state === "pending" || state === "running";
  const isChild = status.parentRunId !== undefined;
  return (
    <div className="buttons">
      {goesOn && !isRemoved && events.length > 0 && (
        <SendEvent
          runId={runId}
          to={partName(status)}
          names={events}
          known={known}
          isAwaited={awaited.length > 0}
        />
      )}
      {status.stalled && (
        <ActionButton
          label="Repair"
          tone="primary"
          question="Continue all runs whose scheduled function was lost?"
          act={async () => await server.write("repair", {})}
        />
      )}
      {goesOn && (
        <ActionButton
          // A dialog that is open asks no other question than before.
          key={status.paused ? "resume" : "pause"}
          label={status.paused ? "Resume" : "Pause"}
          question={status.paused ? "Resume the run?" : "Pause the run and everything below it?"}
          act={async () => await server.write(status.paused ? "resume" : "pause", { runId })}
        />
      )}
      {goesOn && (
        <ActionButton
          label="Cancel"
          tone="danger"
          question="Cancel the run, and run its compensations?"
          act={async () => await server.write("cancel", { runId })}
        />
      )}
      {plan !== undefined && isSensitive !== true && status.within === undefined && (
        <RunAgain status={status} shape={shape} />
      )}
      {"endedAt" in status && !isChild && (
        <>
          {!isRemoved && (workflows.value ?? workflows.error) !== undefined && (
            <Restart key={status.generation} status={status} known={workflows.value ?? []} />
          )}
          <ActionButton
            label="Remove"
            tone="danger"
            question="Permanently remove the run and everything below it?"
            act={async () => {
              await goTo(server.write("cleanup", { runId }).then(() => "#/runs"));
            }}
          />
        </>
      )}
    </div>
  );
}
