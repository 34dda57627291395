import { namesInPath } from "@stepwise/workflow/rules";
import { useState } from "react";
import type { EventSummary, ShownRun } from "../data-source.js";
import { type Shape, unknown } from "../input-shape.js";
import { InputForm, inputOf } from "./input-form.js";
import { ActionButton, Problem } from "./parts.js";
import { useStudio, useWatched } from "./studio.js";

/** Asks for another input than the run's, if somebody wants that. */
function EditedInput({ runId, shape }: { runId: string; shape: Shape }) {
  const [isEdited, setEdited] = useState(false);
  return (
    <>
      <label className="check">
        <input
          type="checkbox"
          name="edits"
          checked={isEdited}
          onChange={() => setEdited(!isEdited)}
        />
        Edit the input
      </label>
      {isEdited && <InputToEdit runId={runId} shape={shape} />}
    </>
  );
}

function InputToEdit({ runId, shape }: { runId: string; shape: Shape }) {
  return (
    <>
      <p>
        Nodes before the one you restart from keep their results from the old input. The schema
        parses what you enter again.
      </p>
      <LastInput runId={runId} shape={shape} />
    </>
  );
}

/** A form with what the run was started with. */
function LastInput({ runId, shape }: { runId: string; shape: Shape }) {
  const { value, error } = useWatched("input", { runId });
  return (
    <>
      <Problem error={error} />
      {value !== undefined && (
        <>
          <input type="hidden" name="loaded" />
          <InputForm shape={shape} example={value} value={value} />
        </>
      )}
    </>
  );
}

/** Sends an event that the run or a branch takes, with a payload of its form to fill in. */
function SendEvent(props: {
  runId: string;
  workflow: string;
  names: readonly string[];
  /** Undefined until they are loaded. */
  known: readonly EventSummary[] | undefined;
  /** Says whether the run waits for one now. */
  isAwaited: boolean;
}) {
  const { server } = useStudio();
  const { runId, workflow, names, known, isAwaited } = props;
  const [chosen, setChosen] = useState("");
  const name = names.includes(chosen) ? chosen : names[0]!;
  const { payload: shape = unknown, example = {} } =
    known?.find((each) => each.name === name) ?? {};
  return (
    <ActionButton
      label="Send an event"
      {...(isAwaited && { tone: "primary" })}
      question={`Send an event to ${workflow}`}
      act={async (form) => {
        if (known === undefined) throw new Error("The form is not loaded yet.");
        await server.write("sendEvent", { runId, name, payload: inputOf(form, shape) });
      }}
    >
      <label>
        Event
        <select value={name} onChange={({ target }) => setChosen(target.value)}>
          {names.map((each) => (
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
        location.hash = `#/runs/${await server.write("start", of)}`;
      }}
    >
      {isOpen && <LastInput runId={runId} shape={shape} />}
    </ActionButton>
  );
}

/** Shows what can be done with a run in its state. */
export function Steering({ status }: { status: ShownRun }) {
  const { server, about } = useStudio();
  const { runId, state, workflow } = status;
  const workflows = useWatched("workflows", {});
  const {
    nodes = [],
    input: shape = unknown,
    events: known = workflows.value && [],
    isSensitive,
    plan,
  } = workflows.value?.find(({ name }) => name === workflow) ?? {};
  const awaited = status.active.flatMap((node) => node.events ?? []);
  // Those of its branches, such as the cases of a race, wait below it. Others are kept.
  const others = status.within === undefined ? (known ?? []).map(({ name }) => name) : [];
  const events = [...new Set([...awaited, ...others])];
  const goesOn = state === "pending" || state === "running";
  const isChild = status.parentRunId !== undefined;
  const [at] = "error" in status ? namesInPath(status.error.node) : [];
  const failed = nodes.find((name) => name === at);
  const [chosen, setChosen] = useState<string>();
  const from = chosen ?? failed ?? "";
  const graph = about.plans?.workflows.find(({ name }) => name === workflow);
  // What is deployed may have a node that the code has no more.
  const { shape: drawn = "loop" } = graph?.nodes.find(({ name }) => name === from) ?? {};
  return (
    <div className="buttons">
      {goesOn && events.length > 0 && (
        <SendEvent
          runId={runId}
          workflow={workflow}
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
          <ActionButton
            label="Restart"
            question="Restart the run?"
            act={async (form) => {
              const from = String(form.get("from"));
              const isEdited = form.has("edits");
              if (isEdited && !form.has("loaded")) throw new Error("The input is not loaded yet.");
              const input = isEdited ? { input: inputOf(form, shape), isEdited } : {};
              const iteration = Number(form.get("iteration"));
              const where = { ...(from && { from }), ...(iteration > 0 && { iteration }) };
              const of = { runId, ...where, ...input };
              await server.write("restart", of);
            }}
          >
            <label>
              From
              {/* Which nodes there are may be known only now: the first is chosen. */}
              <select key={failed} name="from" onChange={({ target }) => setChosen(target.value)}>
                {failed !== undefined && <option value={failed}>{failed}, where it failed</option>}
                <option value="">the beginning</option>
                {nodes
                  .filter((name) => name !== failed)
                  .map((name) => (
                    <option key={name}>{name}</option>
                  ))}
              </select>
            </label>
            {from !== "" && drawn === "loop" && (
              <label>
                Iteration
                <input name="iteration" type="number" min={1} placeholder="the one that failed" />
              </label>
            )}
            <EditedInput key={status.generation} runId={runId} shape={shape} />
          </ActionButton>
          <ActionButton
            label="Remove"
            tone="danger"
            question="Permanently remove the run and everything below it?"
            act={async () => {
              await server.write("cleanup", { runId });
              location.hash = "#/runs";
            }}
          />
        </>
      )}
    </div>
  );
}
