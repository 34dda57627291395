import { useSyncExternalStore } from "react";
import type { RunsArgs } from "../data-source.js";
import { type Server, RETRY_MS, Unreachable } from "./http-source.js";
import { ActionButton } from "./parts.js";
import { useStudio } from "./studio.js";

type Verb = "cancel" | "restart";

/** Something that is done to each run of a filter, and how far it is. It survives a reload. */
interface Job {
  readonly verb: Verb;
  readonly filter: Omit<RunsArgs, "cursor">;
  /** What is left of the page that was read last. */
  readonly todo: readonly string[];
  readonly cursor: string | null;
  readonly isLastPage: boolean;
  readonly isOver: boolean;
  readonly done: number;
  readonly refused: number;
  /** Why the last of those was refused. */
  readonly why?: string;
}

const STORED = "bulk";
const listeners = new Set<() => void>();
let job = JSON.parse(sessionStorage.getItem(STORED) ?? "null") as Job | null;
let isBusy = false;

function keep(next: Job | null): void {
  job = next;
  if (next === null) sessionStorage.removeItem(STORED);
  else sessionStorage.setItem(STORED, JSON.stringify(next));
  for (const listener of listeners) listener();
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** Does what is left, one run at a time. It waits while the server is away. */
export async function goOn(server: Server): Promise<void> {
  if (isBusy) return;
  isBusy = true;
  while (job !== null && !job.isOver) {
    const before: Job = job;
    const after = await next(server, before).catch(async (error: unknown): Promise<Job> => {
      const why = error instanceof Error ? error.message : String(error);
      if (!(error instanceof Unreachable)) return { ...before, isOver: true, why };
      await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
      return before;
    });
    // Somebody may have stopped it, or begun another, meanwhile.
    if (job === before) keep(after);
  }
  isBusy = false;
}

async function next(server: Server, before: Job): Promise<Job> {
  const { verb, filter, cursor, isLastPage } = before;
  const [runId, ...todo] = before.todo;
  if (runId !== undefined) {
    try {
      await server.write(verb, { runId });
      return { ...before, todo, done: before.done + 1 };
    } catch (error) {
      if (error instanceof Unreachable) throw error;
      return { ...before, todo, refused: before.refused + 1, why: (error as Error).message };
    }
  }
  if (isLastPage) return { ...before, isOver: true };
  const { page, isDone, continueCursor } = await server.read("runs", { ...filter, cursor });
  const found = page.map((run) => run.runId);
  return { ...before, todo: found, cursor: continueCursor, isLastPage: isDone };
}

/** What can be done to all runs of a filter: to those of one state, so that nobody errs. */
export function BulkButtons({ filter }: { filter: Omit<RunsArgs, "cursor"> }) {
  const { server } = useStudio();
  const { doing, state = doing && "running" } = filter;
  if (state === undefined || state === "compensating") return null;
  const verb = state === "pending" || state === "running" ? "cancel" : "restart";
  const title = verb === "cancel" ? "Cancel all" : "Restart all";
  const { since, until, tag = {}, ...named } = filter;
  const which = Object.entries(named).flatMap(([name, value]) =>
    value === undefined ? [] : [`${name}: ${String(value)}`],
  );
  for (const [name, value] of Object.entries(tag)) which.push(`tag: ${name}=${String(value)}`);
  if (since !== undefined) which.push(`since: ${new Date(since).toLocaleString()}`);
  if (until !== undefined) which.push(`until: ${new Date(until).toLocaleString()}`);
  return (
    <ActionButton
      label={title}
      question={`${title} runs of this list, on all its pages?`}
      act={async () => {
        const none = { todo: [], cursor: null, isLastPage: false, isOver: false };
        keep({ verb, filter, ...none, done: 0, refused: 0 });
        void goOn(server);
      }}
    >
      <p>{which.join(", ")}</p>
    </ActionButton>
  );
}

/** How far it is, on whatever page. */
export function BulkProgress() {
  const now = useSyncExternalStore(subscribe, () => job);
  if (now === null) return null;
  const { verb, done, refused, isOver, why } = now;
  const doing = verb === "cancel" ? "Cancels runs" : "Restarts runs";
  const did = verb === "cancel" ? "canceled" : "restarted";
  return (
    <div className="bulk">
      <p role="status">
        {isOver ? "Finished" : doing}: {done} {did}
        {refused > 0 && `, ${refused} refused`}
        {why !== undefined && `. ${why}`}
      </p>
      <button type="button" onClick={() => keep(null)}>
        {isOver ? "Close" : "Stop"}
      </button>
    </div>
  );
}
