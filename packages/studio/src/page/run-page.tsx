import type { ListedRun, TimelineEntry } from "@stepwise/workflow";
import { RunTimeline, type Step, WorkflowGraph } from "@stepwise/workflow/react";
import { useEffect, useState } from "react";
import { type ReadResult, RUNS, type ShownRun } from "../data-source.js";
import { type Children, ChildrenOf } from "./children.js";
import { ErrorBoundary } from "./error-boundary.js";
import { nodeName, partName } from "./names.js";
import { Copy, cut, Json, Problem, Tags, Time } from "./parts.js";
import { goesOn, PlaceOf } from "./place.js";
import { Steering } from "./steering.js";
import { useStudio, useTitle, useWatched } from "./studio.js";

/** One run: what it has done, where it is, and what can be done with it. */
export function RunPage({ runId }: { runId: string }) {
  const { about } = useStudio();
  const run = useWatched("run", { runId });
  const [cursors, setCursors] = useState<readonly (string | null)[]>([null]);
  const [pages, setPages] = useState<readonly TimelineEntry[][]>([]);
  const [children, setChildren] = useState<Readonly<Record<string, Children>>>({});
  const [place, setPlace] = useState<ReadResult<"place">>();
  const [opened, setOpened] = useState<ReadonlySet<string>>(new Set());
  const status = run.value;
  useTitle(status ? [partName(status), status.key].filter(Boolean).join(" ") : `Run ${runId}`);
  if (status === undefined || status === null)
    return (
      <main>
        <Problem error={run.error} />
        {status === null && (
          <p className="empty">
            There is no run <code>{runId}</code>. It may have been removed after its retention time.{" "}
            <a href="#/runs">All runs</a>
          </p>
        )}
      </main>
    );
  const steps = pages.flat();
  const keep = (index: number, page: TimelineEntry[]) =>
    setPages((before) => Object.assign([...before], { [index]: page }));
  const toggle = ({ id = "" }: Step, isOpen: boolean) =>
    setOpened((before) => new Set([...before, id].filter((each) => isOpen || each !== id)));
  const last = cursors.length - 1;
  const plan = about.plans?.workflows.find(({ name }) => name === status.workflow);
  const why = "error" in status && (
    <section aria-label="Error">
      <Failure error={status.error} />
      {status.error.kind === "childFailed" && (
        <a href={`#/runs?parent=${runId}&state=failed`}>Its failed children</a>
      )}
    </section>
  );
  return (
    <main>
      <Problem error={run.error} />
      <div className="head">
        <h1>
          {partName(status)} {status.key !== undefined && <small>{cut(status.key, 200)}</small>}
        </h1>
        <Steering status={status} />
      </div>
      <Facts status={status} />
      <Afterwards status={status} />
      {goesOn(status) && <PlaceOf runId={runId} onPlace={setPlace} />}
      {[...opened].map((id) => (
        <ChildrenOf
          key={id}
          id={id}
          withSteps={plan !== undefined}
          onFound={(found) => setChildren((before) => ({ ...before, [id]: found }))}
        />
      ))}
      <ErrorBoundary what="The timeline" instead={why}>
        <RunTimeline
          run={status}
          steps={steps}
          at={place}
          childRunsOf={({ id }) => (id === undefined ? undefined : (children[id]?.runs ?? []))}
          onToggle={toggle}
          hrefOf={(child) => `#/runs/${child.runId}`}
        >
          {why}
        </RunTimeline>
      </ErrorBoundary>
      {(status.isRemoved === true ? [] : cursors).map((cursor, index) => (
        <StepsPage
          key={cursor}
          runId={runId}
          cursor={cursor}
          onPage={(page) => keep(index, page)}
          onMore={index === last ? (next) => setCursors([...cursors, next]) : undefined}
        />
      ))}
      {steps.some(({ id }) => id !== undefined) && (
        <p>
          {steps
            .filter(({ id, children: all }) => opened.has(id ?? "") && (all?.total ?? 0) > RUNS)
            .map(({ id, node, iterations = [] }) => (
              <span key={id}>
                Here are the first {RUNS} children of{" "}
                {[node, ...iterations.map((each) => `#${each}`)].join(" ")}.{" "}
                <a href={`#/runs?parent=${id}`}>List and filter them</a>.{" "}
              </span>
            ))}
          <a href={`#/runs?parent=${runId}`}>List and filter its children</a>
        </p>
      )}
      <div className="columns">
        <div>
          {"output" in status && status.isSensitive !== true && (
            <Json title="Output" value={status.output} />
          )}
          {"isSensitive" in status && status.isSensitive === true && (
            <p>Output: sensitive, and not shown</p>
          )}
          <Input runId={runId} />
          <Kept of={status} />
          <SteeringLog of={status} />
          <details hidden={status.isRemoved}>
            <summary>Results of its nodes</summary>
            {steps.map(({ node, iterations = [], output, isSensitive }) => {
              const name = [node, ...iterations.map((each) => `#${each}`)].join(" ");
              return isSensitive === true ? (
                <p key={name}>{name}: sensitive, and not shown</p>
              ) : (
                <Json key={name} title={name} value={output} />
              );
            })}
          </details>
        </div>
        {plan !== undefined && about.plans !== undefined && (
          <section>
            <h2>Plan</h2>
            <ErrorBoundary what="The graph">
              <WorkflowGraph
                graph={about.plans}
                workflow={plan.name}
                run={status}
                steps={steps}
                inside={({ id = "" }) => (opened.has(id) ? children[id]?.steps : undefined)}
              />
            </ErrorBoundary>
          </section>
        )}
      </div>
    </main>
  );
}

type StepError = NonNullable<ListedRun["error"]>;

/** Shows what failed once the run had its result, which that leaves as it is. */
function Afterwards({ status }: { status: ShownRun }) {
  if (!("endedAt" in status)) return null;
  const { onEndError: onEnd, onCompleteError: onComplete } = status;
  return Object.entries({ onEnd, onComplete }).map(
    ([name, message]) =>
      message !== undefined && (
        <section key={name}>
          <h2>Error of {name}</h2>
          <p className="problem">{cut(message, 2_000)}</p>
        </section>
      ),
  );
}

/** An error with its causes, and what went wrong while the run was undone. */
function Failure({ error, title }: { error: StepError; title?: string }) {
  const { kind, message, workflow, node, attempt, key, data, cause, causes = {} } = error;
  const place = cut([workflow, nodeName(node), key].filter(Boolean).join(" › "), 400);
  return (
    <div className="failure">
      <p className="why">
        {title} {place} ({kind}
        {node !== "" && `, attempt ${attempt}`})
      </p>
      <p className="problem">{cut(message, 2_000)}</p>
      <Json title="Data" value={data} />
      {cause !== undefined && <Failure title="Caused by" error={cause} />}
      {Object.entries(causes).map(([of, each]) => (
        <Failure key={of} title={`Case ${of}:`} error={each} />
      ))}
      {error.compensationErrors?.map((each, index) => (
        <Failure key={index} title="While undoing" error={each} />
      ))}
    </div>
  );
}

/** The events that no node has taken. */
function Kept({ of: { kept } }: { of: ShownRun }) {
  return kept.length === 0 ? null : (
    <section aria-label="Kept events">
      <h2>Kept events</h2>
      <ul>
        {kept.map(({ name, count, since }) => (
          <li key={name}>
            {name}: {count}, since <Time at={since} />
          </li>
        ))}
      </ul>
    </section>
  );
}

/** Shows how the run was steered, by whatever caller of the manager. */
function SteeringLog({ of: { steered = [] } }: { of: ShownRun }) {
  return steered.length === 0 ? null : (
    <section aria-label="Steering">
      <h2>Steering</h2>
      <ol className="log">
        {steered.map(({ what, at, from }) => (
          <li key={`${at} ${what}`}>
            <Time at={at} /> {what} {from !== undefined && `from ${from}`}
          </li>
        ))}
      </ol>
    </section>
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
  useEffect(() => {
    if (value !== undefined) onPage(value.page);
    // Only what is found matters.
  }, [value]);
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
      {value === null ? <p>Input: not shown</p> : <Json title="Input" value={value} />}
    </>
  );
}

/** A link to a run by its workflow and key, and by its id until they are known. */
function RunLink({ runId }: { runId: string }) {
  const { value: run } = useWatched("run", { runId });
  return (
    <a href={`#/runs/${runId}`}>
      {run ? cut([run.workflow, run.key].filter(Boolean).join(" › "), 200) : runId}
    </a>
  );
}

/** A run that began so much later than it was created shows both. */
const SHOWN_WAIT_MS = 1_000;

function Facts({ status }: { status: ShownRun }) {
  const { runId, state, createdAt, startedAt, active } = status;
  const begins = state === "pending" ? active[0]?.dueAt : startedAt;
  const facts: [string, React.ReactNode][] = [
    [
      "Run",
      <span key="id">
        <code>{runId}</code> <Copy text={runId} />
      </span>,
    ],
  ];
  if (begins !== startedAt || startedAt - createdAt >= SHOWN_WAIT_MS)
    facts.push(["Created", <Time key="created" at={createdAt} />]);
  if (begins !== undefined)
    facts.push([state === "pending" ? "Begins" : "Started", <Time key="started" at={begins} />]);
  if ("endedAt" in status) facts.push(["Ended", <Time key="ended" at={status.endedAt} />]);
  if (status.parentRunId !== undefined)
    facts.push(["Child of", <RunLink key="parent" runId={status.parentRunId} />]);
  if (status.tags !== undefined) facts.push(["Tags", <Tags key="tags" of={status.tags} />]);
  if (status.generation > 1) facts.push(["Restarted", `generation ${status.generation}`]);
  if (status.isRemoved) facts.push(["Plan", "not in the app any more, so its nodes are not shown"]);
  else if (status.isOutdated) facts.push(["Plan", "older than what is deployed"]);
  if (status.waitsFor !== undefined) {
    const { key, place, runId: before } = status.waitsFor;
    facts.push([
      "Waits for",
      <span key="turn">
        its turn with the key <code>{cut(key, 200)}</code>, place {place}
        {before !== undefined && (
          <>
            , after <RunLink runId={before} />
          </>
        )}
      </span>,
    ]);
  }
  if (status.collecting !== undefined) {
    const { key, items, until } = status.collecting;
    facts.push([
      "Collects",
      <span key="collects">
        starts with the key <code>{cut(key, 200)}</code>: {items} so far, until <Time at={until} />{" "}
        at the latest
      </span>,
    ]);
  }
  if (status.stalled)
    facts.push(["Stalled", "its scheduled function was lost: repair it, or call workflow.repair"]);
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
