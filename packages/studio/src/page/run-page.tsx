import { RunTimeline, WorkflowGraph } from "@stepwise/workflow/react";
import type { TimelineEntry } from "@stepwise/workflow";
import { useState } from "react";
import type { EventSummary, ShownRun } from "../data-source.js";
import { type Shape, unknown } from "../input-shape.js";
import { InputForm, inputOf } from "./input-form.js";
import { ActionButton, Json, Problem, Time } from "./parts.js";
import { RunList } from "./run-list.js";
import { useStudio, useWatched } from "./studio.js";

/** One run: what it has done, where it is, and what can be done with it. */
export function RunPage({ runId }: { runId: string }) {
  const { about } = useStudio();
  const run = useWatched("run", { runId });
  const [cursors, setCursors] = useState<readonly (string | null)[]>([null]);
  const [pages, setPages] = useState<readonly TimelineEntry[][]>([]);
  const status = run.value;
  if (status === undefined || status === null)
    return (
      <main>
        <Problem error={run.error} />
        {status === null && (
          <p className="empty">
            There is no run {runId}. It may have been removed after its retention time.
          </p>
        )}
      </main>
    );
  const steps = pages.flat();
  const keep = (index: number, page: TimelineEntry[]) =>
    setPages((before) => Object.assign([...before], { [index]: page }));
  const last = cursors.length - 1;
  const plan = about.plans?.workflows.find(({ name }) => name === status.workflow);
  const hasChildren = steps.some(({ children }) => children !== undefined);
  return (
    <main>
      <Problem error={run.error} />
      <div className="head">
        <h1>
          {status.workflow} {status.key !== undefined && <small>{status.key}</small>}
        </h1>
        <Steering status={status} />
      </div>
      <Facts status={status} />
      {cursors.map((cursor, index) => (
        <StepsPage
          key={cursor}
          runId={runId}
          cursor={cursor}
          onPage={(page) => keep(index, page)}
          onMore={index === last ? (next) => setCursors([...cursors, next]) : undefined}
        />
      ))}
      <RunTimeline run={status} steps={steps} />
      {hasChildren && (
        <details open>
          <summary>Children</summary>
          <RunList filter={{ parent: runId }} empty="None has begun." />
        </details>
      )}
      <details>
        <summary>Input</summary>
        <Input runId={runId} />
      </details>
      {"error" in status && <Json title="Error" value={status.error} />}
      {"output" in status && <Json title="Output" value={status.output} />}
      {status.isSensitive === true && <p>Output: sensitive, and not shown</p>}
      <details>
        <summary>Results of its nodes</summary>
        {steps.map(({ node, iterations = [], output, isSensitive }) =>
          isSensitive === true ? (
            <p key={[node, ...iterations].join()}>{node}: sensitive, and not shown</p>
          ) : (
            <Json
              key={[node, ...iterations].join()}
              title={[node, ...iterations].join(" ")}
              value={output}
            />
          ),
        )}
      </details>
      {plan !== undefined && about.plans !== undefined && (
        <details open>
          <summary>Plan</summary>
          <WorkflowGraph graph={about.plans} workflow={plan.name} run={status} steps={steps} />
        </details>
      )}
    </main>
  );
}

/** A page of the timeline, watched for as long as the run is shown. */
function StepsPage(props: {
  runId: string;
  cursor: string | null;
  onPage: (page: TimelineEntry[]) => void;
  onMore: ((cursor: string) => void) | undefined;
}) {
  const { runId, cursor, onPage, onMore } = props;
  const { value, error } = useWatched("steps", { runId, cursor });
  const [shown, setShown] = useState<typeof value>();
  if (value !== undefined && value !== shown) {
    setShown(value);
    queueMicrotask(() => onPage(value.page));
  }
  return (
    <>
      <Problem error={error} />
      {value?.isDone === false && onMore !== undefined && (
        <button type="button" onClick={() => onMore(value.continueCursor)}>
          Show more of its nodes
        </button>
      )}
    </>
  );
}

function Input({ runId }: { runId: string }) {
  const { value, error } = useWatched("input", { runId });
  return (
    <>
      <Problem error={error} />
      <Json title="Input" value={value} />
    </>
  );
}

function Facts({ status }: { status: ShownRun }) {
  const facts: [string, React.ReactNode][] = [
    ["Run", <code key="id">{status.runId}</code>],
    ["Started", <Time key="started" at={status.startedAt} />],
    ["Ended", <Time key="ended" at={"endedAt" in status ? status.endedAt : undefined} />],
  ];
  if (status.parentRunId !== undefined)
    facts.push(["Child of", <a href={`#/runs/${status.parentRunId}`}>{status.parentRunId}</a>]);
  if (status.generation > 1) facts.push(["Restarted", `generation ${status.generation}`]);
  if (status.isOutdated) facts.push(["Plan", "older than what is deployed"]);
  if (status.stalled)
    facts.push(["Stalled", "its scheduled function was lost: call workflow.repair"]);
  return (
    <dl>
      {facts.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}

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
  const { value, error } = useWatched("input", { runId });
  return (
    <>
      <Problem error={error} />
      <p>Nodes before the one you restart from keep what they made of the old input.</p>
      {value !== undefined && (
        <>
          <input type="hidden" name="loaded" />
          <InputForm shape={shape} example={value} value={value} />
        </>
      )}
    </>
  );
}

/** Sends an event that the run waits for, with a payload of its form to fill in. */
function SendEvent(props: {
  runId: string;
  workflow: string;
  names: readonly string[];
  known: readonly EventSummary[];
}) {
  const { server } = useStudio();
  const { runId, workflow, names, known } = props;
  const [chosen, setChosen] = useState("");
  const name = names.includes(chosen) ? chosen : names[0]!;
  const { payload: shape = unknown, example = {} } = known.find((each) => each.name === name) ?? {};
  return (
    <ActionButton
      label="Send an event"
      question={`Send an event to ${workflow}`}
      act={async (form) =>
        await server.write("sendEvent", { runId, name, payload: inputOf(form, shape) })
      }
    >
      <label>
        Event
        <select value={name} onChange={({ target }) => setChosen(target.value)}>
          {names.map((each) => (
            <option key={each}>{each}</option>
          ))}
        </select>
      </label>
      <InputForm key={name} title="Payload" shape={shape} example={example} />
    </ActionButton>
  );
}

/** What can be done with a run in its state. */
function Steering({ status }: { status: ShownRun }) {
  const { server } = useStudio();
  const { runId, state, workflow } = status;
  const workflows = useWatched("workflows", {});
  const {
    nodes = [],
    input: shape = unknown,
    events: known = [],
  } = workflows.value?.find(({ name }) => name === workflow) ?? {};
  const events = [...new Set(status.active.flatMap((node) => node.events ?? []))];
  const goesOn = state === "pending" || state === "running";
  const isChild = status.parentRunId !== undefined;
  return (
    <div className="buttons">
      {goesOn && events.length > 0 && (
        <SendEvent runId={runId} workflow={workflow} names={events} known={known} />
      )}
      {goesOn && (
        <ActionButton
          label={status.paused ? "Resume" : "Pause"}
          question={status.paused ? "Let the run go on?" : "Pause the run, and all below it?"}
          act={async () => await server.write(status.paused ? "resume" : "pause", { runId })}
        />
      )}
      {goesOn && (
        <ActionButton
          label="Cancel"
          question="Cancel the run, and undo what has a compensation?"
          act={async () => await server.write("cancel", { runId })}
        />
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
              const input = isEdited ? { input: inputOf(form, shape) } : {};
              const of = { runId, ...(from === "" ? {} : { from }), ...input };
              await server.write("restart", of);
            }}
          >
            <label>
              From
              <select name="from">
                <option value="">the beginning</option>
                {nodes.map((name) => (
                  <option key={name}>{name}</option>
                ))}
              </select>
            </label>
            <EditedInput key={status.generation} runId={runId} shape={shape} />
          </ActionButton>
          <ActionButton
            label="Remove"
            question="Remove the run and all below it, for good?"
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
