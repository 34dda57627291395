import { Problem, Time } from "./parts.js";
import { useWatched } from "./studio.js";

/** How busy the app's pool is. */
export function PoolPage() {
  const { value, error } = useWatched("pool", {});
  return (
    <main>
      <h1>Pool</h1>
      <Problem error={error} />
      {value !== undefined && (
        <>
          <p>
            <meter
              min={0}
              max={value.maxParallelism}
              value={value.running}
              aria-label="Slots in use"
            />{" "}
            {value.running} of {value.maxParallelism} slots in use
          </p>
          <dl>
            <div>
              <dt>Steps that wait for a slot</dt>
              <dd>{value.waiting >= 1000 ? "1,000 or more" : value.waiting}</dd>
            </div>
            <div>
              <dt>The first waits since</dt>
              <dd>
                <Time at={value.oldestWaitingSince} />
              </dd>
            </div>
            <div>
              <dt>The watchdog looks next at</dt>
              <dd>
                <Time at={value.watchdogAt} />
              </dd>
            </div>
          </dl>
          <p>
            <a href="#/runs?state=running">Running runs</a>
          </p>
        </>
      )}
    </main>
  );
}
