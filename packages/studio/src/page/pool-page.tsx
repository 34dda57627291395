import { durationText, useNow } from "@stepwise/workflow/react";
import { Ago, cut, Problem, Time } from "./parts.js";
import { useReadAgain, useWatched } from "./studio.js";

/** How busy the app's pool is. */
export function PoolPage() {
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
          <Tile name="Slots in use">
            {value.running} of {value.maxParallelism}{" "}
            <meter max={value.maxParallelism} value={value.running} aria-label="Slots in use" />
          </Tile>
          <Tile name="Steps in the queue">{atLeast(value.waiting)}</Tile>
          <Tile name="The first has waited">
            {value.oldestWaitingSince === undefined
              ? "–"
              : durationText(Math.max(0, now - value.oldestWaitingSince))}
          </Tile>
          <Tile name="Waiting for a retry">{atLeast(value.retrying)}</Tile>
          <Tile name="The next retry">
            <Time at={value.nextRetryAt} />
          </Tile>
          <Tile name="Next watchdog">
            {value.watchdogAt === undefined ? "–" : <Time at={value.watchdogAt} />}
          </Tile>
        </dl>
      )}
      <Use />
      <p>
        <a href="#/runs?doing=running">Running runs</a>,{" "}
        <a href="#/runs?doing=queued">queued runs</a>
      </p>
    </main>
  );
}

/** Which steps hold the slots, and whose steps are in the queue. */
function Use() {
  const { holders = [], queue = [], isMore = false } = useReadAgain("poolUse", {}) ?? {};
  return (
    <>
      {queue.length > 0 && (
        <>
          <h2>In the queue</h2>
          <ul>
            {queue.map(({ workflow, count }) => (
              <li key={workflow}>
                <a href={`#/runs?${new URLSearchParams({ workflow, doing: "queued" }).toString()}`}>
                  {workflow}
                </a>
                : {count}
                {isMore && " or more"}
              </li>
            ))}
          </ul>
        </>
      )}
      {holders.length > 0 && (
        <>
          <h2>What has held a slot for longest</h2>
          <ul>
            {holders.map(({ runId, workflow, path, since }) => (
              <li key={`${runId} ${path}`}>
                <a href={`#/runs/${runId}`}>
                  {workflow} › {cut(path.replaceAll(/[./]/g, " › "), 200)}
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

/** No more are counted. */
const atLeast = (count: number) => (count >= 100 ? "100 or more" : count);

function Tile({ name, children }: { name: string; children: React.ReactNode }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}
