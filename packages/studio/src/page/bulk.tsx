import type { BulkStatus } from "@stepwise/workflow";
import { useState } from "react";
import type { BulkArgs, RunsFilter } from "../data-source.js";
import { Ago, ActionButton, Problem } from "./parts.js";
import { useStudio, useWatched } from "./studio.js";

type Verb = BulkArgs["do"];

const VERBS = {
  cancel: { title: "Cancel all", doing: "Cancels runs", done: "canceled" },
  pause: { title: "Pause all", doing: "Pauses runs", done: "paused" },
  resume: { title: "Resume all", doing: "Resumes runs", done: "resumed" },
  restart: { title: "Restart all", doing: "Restarts runs", done: "restarted" },
  cleanup: { title: "Remove all", doing: "Removes runs", done: "removed" },
} as const satisfies Record<Verb, object>;

/** Shows what can be done to all runs of a filter, if it has a state: that prevents mistakes. */
export function BulkButtons({ filter }: { filter: RunsFilter }) {
  const { doing, state = doing && "running" } = filter;
  if (state === undefined || state === "compensating") return null;
  const goesOn = state === "pending" || state === "running";
  const verbs = goesOn
    ? (["cancel", "pause", "resume"] as const)
    : (["restart", "cleanup"] as const);
  return (
    <div className="buttons">
      {verbs.map((verb) => (
        <BulkButton key={verb} verb={verb} filter={filter} />
      ))}
    </div>
  );
}

/** How many runs are counted before something is done to them. */
const COUNTED = 1_000;

function BulkButton({ verb, filter }: { verb: Verb; filter: RunsFilter }) {
  const { server } = useStudio();
  const [count, setCount] = useState("…");
  const { title } = VERBS[verb];
  const ask = () => {
    setCount("…");
    server.read("count", { ...filter, upTo: COUNTED }).then(
      ({ count, isMore }) => setCount(isMore ? `${count} or more` : String(count)),
      (error: unknown) => setCount((error as Error).message),
    );
  };
  return (
    <ActionButton
      label={title}
      question={`${title} runs of this list, on all its pages?`}
      {...(verb === "cleanup" ? { tone: "danger" as const } : {})}
      onOpen={ask}
      act={async (form) => {
        const perSecond = Number(form.get("perSecond")) || undefined;
        await server.write("startBulk", {
          do: verb,
          where: filter,
          ...(perSecond && { perSecond }),
        });
      }}
    >
      <p>{textOf(filter)}</p>
      <p role="status">Runs now: {count}. It goes on when this page is closed.</p>
      <label>
        At most so many a second (optional)
        <input name="perSecond" type="number" min="0.01" step="any" />
      </label>
    </ActionButton>
  );
}

function textOf({ since, until, tag = {}, ...named }: RunsFilter): string {
  const which = Object.entries(named).flatMap(([name, value]) =>
    value === undefined ? [] : [`${name}: ${String(value)}`],
  );
  for (const [name, value] of Object.entries(tag)) which.push(`tag: ${name}=${String(value)}`);
  if (since !== undefined) which.push(`since: ${new Date(since).toLocaleString()}`);
  if (until !== undefined) which.push(`until: ${new Date(until).toLocaleString()}`);
  return which.join(", ");
}

/** How long a bulk that has ended is shown on every page. */
const SHOWN_MS = 3_600_000;
const STORED = "closed bulks";

/** Shows what is done to many runs, and how far it is, on whatever page. */
export function BulkProgress() {
  const { value = [] } = useWatched("bulks", {});
  const [closed, setClosed] = useState(() => sessionStorage.getItem(STORED) ?? "");
  const close = (bulkId: string) => {
    const all = `${closed} ${bulkId}`;
    sessionStorage.setItem(STORED, all);
    setClosed(all);
  };
  const now = Date.now();
  return value
    .filter(({ bulkId, endedAt = now }) => endedAt > now - SHOWN_MS && !closed.includes(bulkId))
    .map((bulk) => <Progress key={bulk.bulkId} bulk={bulk} onClose={() => close(bulk.bulkId)} />);
}

function Progress({ bulk, onClose }: { bulk: BulkStatus; onClose: () => void }) {
  const { server } = useStudio();
  const [error, setError] = useState<Error>();
  const { bulkId, state } = bulk;
  return (
    <div className="bulk">
      <p role="status">
        <BulkText bulk={bulk} />
      </p>
      <Problem error={error} />
      {state === "running" ? (
        <button
          type="button"
          onClick={() => {
            setError(undefined);
            void server.write("stopBulk", { bulkId }).catch(setError);
          }}
        >
          Stop
        </button>
      ) : (
        <button type="button" onClick={onClose}>
          Close
        </button>
      )}
    </div>
  );
}

const ENDS = { completed: "Finished", stopped: "Stopped", halted: "Stopped by itself" } as const;

function BulkText({ bulk }: { bulk: BulkStatus }) {
  const { do: verb, state, done, refused, refusals } = bulk;
  const { doing, done: did } = VERBS[verb];
  return (
    <>
      {state === "running" ? doing : ENDS[state]}: {done} {did}
      {refused > 0 && `, ${refused} refused`}
      {refusals.map(({ why, count, runId }) => (
        <span key={why}>
          {" "}
          – {count}: {why} (<a href={`#/runs/${runId}`}>the first</a>)
        </span>
      ))}
    </>
  );
}

/** The newest bulks. */
export function BulkList() {
  const { value = [] } = useWatched("bulks", {});
  if (value.length === 0) return null;
  return (
    <details>
      <summary>What was done to many runs</summary>
      <ul>
        {value.map((bulk) => (
          <li key={bulk.bulkId}>
            <Ago at={bulk.startedAt} /> <BulkText bulk={bulk} />
          </li>
        ))}
      </ul>
    </details>
  );
}
