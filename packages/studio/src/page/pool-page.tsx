import { durationText, useNow } from "@stepwise/workflow/react";
import { Problem, Time } from "./parts.js";
import { useWatched } from "./studio.js";

/** How busy the app's pool is. */
export function PoolPage() {
  const { value, error } = useWatched("pool", {});
  const now = useNow(value?.oldestWaitingSince !== undefined);
  return (
    <main>
      <h1>Pool</h1>
      <Problem error={error} />
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
      <p>
        <a href="#/runs?state=running">Running runs</a>
      </p>
    </main>
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
