import { durationText, useNow } from "@stepwise/workflow/react";
import type { ReadResult } from "../data-source.js";
import { Limits } from "./limits.js";
import { nodeName } from "./names.js";
import { Ago, cut, Problem, Time } from "./parts.js";
import { ErrorBoundary } from "./error-boundary.js";
import { useReadAgain, useTitle, useWatched } from "./studio.js";

/** Shows how busy the app's pool is. */
export function PoolPage() {
  useTitle("Pool");
  const { value, error } = useWatched("pool", {});
  const now = useNow(value?.oldestWaitingSince !== undefined);
  const isFull = value !== undefined && value.waiting > 0 && value.running >= value.maxParallelism;
  return (
    <main>
      <h1>Pool</h1>
      <Problem error={error} />
      {isFull && (
        <p role="alert" className="problem">
          All slots are in use, and steps wait for one.
        </p>
      )}
      {value !== undefined && (
        <dl className="tiles">
          <Tile name="Slots in use" isBad={isFull}>
            {value.running} of {value.maxParallelism}{" "}
            <meter
              max={value.maxParallelism}
              value={value.running}
              // Browsers draw it red if its value is above `high`, and its optimum below `low`.
              {...(isFull && { low: 0.5, high: value.maxParallelism - 0.5, optimum: 0 })}
              aria-label="Slots in use"
            />
          </Tile>
          <Tile name="Steps in the queue" isBad={isFull}>
            {atLeast(value.waiting)}
          </Tile>
          <Tile name="The oldest has waited" isBad={isFull}>
            {value.oldestWaitingSince === undefined
              ? "–"
              : durationText(Math.max(0, now - value.oldestWaitingSince))}
          </Tile>
          <Tile name="Waiting for a retry">{atLeast(value.retrying)}</Tile>
          <Tile name="The next retry">
            <Time at={value.nextRetryAt} />
          </Tile>
          <Tile name="Next watchdog check">
            {value.watchdogAt === undefined ? "–" : <Time at={value.watchdogAt} />}
          </Tile>
        </dl>
      )}
      <ErrorBoundary what="The limits">
        <Limits />
      </ErrorBoundary>
      <ErrorBoundary what="The queue">
        <Use />
      </ErrorBoundary>
      <p>
        <a href="#/runs?doing=running">Running runs</a>,{" "}
        <a href="#/runs?doing=queued">queued runs</a>
      </p>
    </main>
  );
}

/** Shows which steps hold the slots, and whose steps are in the queue. */
function Use() {
  const { value } = useReadAgain("poolUse", {});
  const { holders = [], queue = [], limited = [], isMore = false } = value ?? {};
  return (
    <>
      <Queue title="In the queue" of={queue} isMore={isMore} />
      <Queue title="Waiting for a limit" of={limited} isMore={isMore} />
      {holders.length > 0 && (
        <>
          <h2>Steps that have held a slot for longest</h2>
          <ul>
            {holders.map(({ runId, workflow, path, since }) => (
              <li key={`${runId} ${path}`}>
                <a href={`#/runs/${runId}`}>
                  {workflow} › {cut(nodeName(path), 200)}
                </a>
                , <Ago at={since} />
              </li>
            ))}
          </ul>
        </>
      )}
    </>
  );
}

type Queued = ReadResult<"poolUse">["queue"];

/** Steps that wait, by their workflow and the permits that they need. */
function Queue({ title, of, isMore }: { title: string; of: Queued; isMore: boolean }) {
  if (of.length === 0) return null;
  return (
    <>
      <h2>{title}</h2>
      <ul>
        {of.map(({ workflow, permits = [], count, since }) => (
          <li key={`${workflow} ${permits.join(" ")}`}>
            <a href={`#/runs?${new URLSearchParams({ workflow, doing: "queued" }).toString()}`}>
              {workflow}
            </a>
            {permits.length > 0 && ` with ${cut(permits.join(", "), 200)}`}: {count}
            {isMore && " or more"}, the first <Ago at={since} />
          </li>
        ))}
      </ul>
    </>
  );
}

/** Returns the count, or says that it is 100 or more: no more are counted. */
const atLeast = (count: number) => (count >= 100 ? "100 or more" : count);

function Tile(props: { name: string; isBad?: boolean; children: React.ReactNode }) {
  const { name, isBad = false, children } = props;
  return (
    <div className={isBad ? "problem" : undefined}>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}
