import type { ListedRun } from "@stepwise/workflow";
import { durationText, useNow } from "@stepwise/workflow/react";
import { useVirtualizer } from "@tanstack/react-virtual";
import { type ReactNode, useEffect, useMemo, useRef, useState } from "react";
import { type ReadResult, RUNS, type RunsArgs, type RunsFilter } from "../data-source.js";
import { hasText } from "../has-text.js";
import { nodeName, partName } from "./names.js";
import { Ago, Badge, cut, Problem, Tags } from "./parts.js";
import { goesOn, PlaceOf } from "./place.js";
import { useStudio } from "./studio.js";

type Found = ReadResult<"runs">;

/** A page of the list: where it begins, and what was last found there. */
interface ListPage {
  readonly cursor: string | null;
  readonly found?: Found;
  /** It shows no run, and begins elsewhere than when it was read: with what one before it lost. */
  readonly isMoved?: boolean;
}

/** A row: a run, or what stands for the pages that have not been read yet. */
interface Row {
  readonly page: number;
  readonly run?: ListedRun;
}

const FIRST: readonly ListPage[] = [{ cursor: null }];
/** Pages that are read at a click. One of a search for a text reads more. */
const MORE = 4;
/** A row of one line, in pixels. Others are measured. */
const ROW_HEIGHT = 37;

/** Runs, of which only the rows in view are in the page. Only their pages are live. */
export function RunList({ filter, empty }: { filter: RunsFilter; empty?: ReactNode }) {
  const [pages, setPages] = useState(FIRST);
  const [error, setError] = useState<Error>();
  const scrolled = useRef<HTMLDivElement>(null);
  const [latest, setLatest] = useState<readonly ListedRun[]>([]);
  const { text } = filter;
  const rows = useMemo(() => rowsOf(pages, latest, text), [pages, latest, text]);
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scrolled.current,
    estimateSize: () => ROW_HEIGHT,
  });
  const shown = virtual.getVirtualItems();
  const isAtTop = (shown[0]?.index ?? 0) === 0;
  const inView = new Set(shown.map(({ index }) => rows[index]?.page ?? 0));
  // New runs come at the top, also while the page there is empty.
  if (isAtTop) inView.add(0);
  pages.forEach(({ isMoved }, index) => isMoved === true && inView.add(index));
  const isSearch = text !== undefined;
  const [asked, setAsked] = useState(0);
  // If a filter drops runs, the list goes on only when somebody asks for that.
  const isHeld = (page: number) =>
    pages[page]?.found === undefined &&
    page > asked &&
    (isSearch || (pages[page - 1]?.found?.page.length ?? RUNS) < RUNS);
  const keep = (index: number, found: Found) => {
    setError(undefined);
    setPages((before) => {
      const page = before[index];
      // A page before it has become the last one.
      if (page === undefined) return before;
      const { cursor: end, found: after } = before[index + 1] ?? {};
      // Others without a run stay as they were read: nothing that was shown is in them now.
      const isMoved =
        end !== found.continueCursor &&
        after?.page.length === 0 &&
        (page.found?.page.length ?? 0) > 0;
      const next = {
        ...before[index + 1],
        cursor: found.continueCursor,
        ...(isMoved && { isMoved }),
      };
      const head = [...before.slice(0, index), { cursor: page.cursor, found }];
      return found.isDone ? head : [...head, next, ...before.slice(index + 2)];
    });
  };
  const searched = sumOf(pages, (found) => found.searched);
  const isDropping = searched > sumOf(pages, (found) => found.page.length);
  const isDone = pages.at(-1)?.found !== undefined;
  // Others are listed in the order of their keys, or of the children.
  const isNewestFirst = filter.key === undefined && filter.parent === undefined;
  return (
    <>
      <Problem error={error} />
      {[...inView]
        .filter((index) => pages[index] !== undefined && !isHeld(index))
        // What was searched is not searched again at every change.
        .filter((index) => !isSearch || pages[index]?.found === undefined)
        .map((index) => (
          <PageOfRuns
            key={`${index} ${pages[index]!.cursor}`}
            args={{ ...filter, cursor: pages[index]!.cursor }}
            onFound={(found) => keep(index, found)}
            onError={setError}
          />
        ))}
      {isSearch && isAtTop && (
        <PageOfRuns
          args={{ ...filter, text: undefined, cursor: null }}
          onFound={({ page }) => setLatest(page)}
          onError={setError}
        />
      )}
      {(isSearch || isDropping) && searched > 0 && (
        <div className="buttons">
          <p role="status">
            Searched {isDone ? "all" : isNewestFirst ? "the latest" : "the first"} {searched} runs.
          </p>
          {isSearch && (
            <button type="button" onClick={() => setPages(FIRST)}>
              Search again
            </button>
          )}
        </div>
      )}
      {isDone && rows.length === 0 ? (
        <p className="empty">
          {empty ?? "No runs. Start one above, or from your app's functions."}
        </p>
      ) : error !== undefined && rows.every(({ run }) => run === undefined) ? null : (
        <div className="rows" ref={scrolled} role="region" aria-label="Runs" tabIndex={0}>
          <table aria-rowcount={isDone ? rows.length + 1 : -1}>
            <thead>
              <tr>
                <th scope="col">State</th>
                <th scope="col">Workflow</th>
                <th scope="col">Key</th>
                <th scope="col">At</th>
                <th scope="col">Started</th>
                <th scope="col">Took</th>
              </tr>
            </thead>
            <tbody>
              <Gap height={shown[0]?.start ?? 0} />
              {shown.map(({ index }) => {
                const { run, page } = rows[index] ?? { page: 0 };
                return (
                  <tr
                    // With its run goes the focus, and what a pointer is on.
                    key={`${page} ${run?.runId ?? ""}`}
                    ref={virtual.measureElement}
                    data-index={index}
                    aria-rowindex={index + 2}
                  >
                    {run !== undefined ? (
                      <Cells run={run} />
                    ) : isHeld(page) ? (
                      <td colSpan={6}>
                        <button
                          type="button"
                          onClick={() => setAsked(isSearch ? page : page + MORE - 1)}
                        >
                          {isNewestFirst ? "Search older runs" : "Search more runs"}
                        </button>
                      </td>
                    ) : (
                      <td colSpan={6}>{error === undefined && "Loading …"}</td>
                    )}
                  </tr>
                );
              })}
              <Gap height={virtual.getTotalSize() - (shown.at(-1)?.end ?? 0)} />
            </tbody>
          </table>
        </div>
      )}
    </>
  );
}

function sumOf(pages: readonly ListPage[], count: (found: Found) => number): number {
  return pages.reduce((sum, { found }) => sum + (found === undefined ? 0 : count(found)), 0);
}

/** @param latest the latest runs as they are now, also while older ones are searched */
function rowsOf(pages: readonly ListPage[], latest: readonly ListedRun[], text = ""): Row[] {
  const found = pages.flatMap((page, index): Row[] =>
    page.found === undefined
      ? [{ page: index }]
      : page.found.page.map((run) => ({ page: index, run })),
  );
  const isLatest = new Set(latest.map(({ runId }) => runId));
  const fresh = latest.filter((run) => hasText(run, text)).map((run) => ({ page: 0, run }));
  return [...fresh, ...found.filter(({ run }) => run === undefined || !isLatest.has(run.runId))];
}

/** Takes the place of the rows that are out of view. */
function Gap({ height }: { height: number }) {
  return height > 0 ? <tr aria-hidden style={{ height }} /> : null;
}

/** Reads a page of runs while it is in view. A search is made once, others are live. */
function PageOfRuns(props: {
  args: RunsArgs;
  onFound: (found: Found) => void;
  onError: (error: Error) => void;
}) {
  const { server } = useStudio();
  const latest = useRef(props);
  latest.current = props;
  useEffect(() => {
    const { args } = latest.current;
    const onFound = (found: Found) => latest.current.onFound(found);
    const onError = (error: Error) => latest.current.onError(error);
    if (args.text === undefined) return server.watch("runs", args, onFound, onError);
    let isOver = false;
    server.read("runs", args).then(
      (found) => !isOver && onFound(found),
      (thrown: Error) => !isOver && onError(thrown),
    );
    return () => void (isOver = true);
  }, [server]);
  return null;
}

/** The cells of a run: the same ones for as long as its row is shown, as one may have the focus. */
function Cells({ run }: { run: ListedRun }) {
  const [place, setPlace] = useState<ReadResult<"place">>();
  const isPlaced = goesOn(run) && run.at === undefined;
  return (
    <>
      {isPlaced && <PlaceOf runId={run.runId} onPlace={setPlace} />}
      <RunCells run={isPlaced && place?.path ? { ...run, at: place } : run} />
    </>
  );
}

function RunCells({ run }: { run: ListedRun }) {
  const name = run.childKey ?? (run.index === undefined ? run.key : `#${run.index}`);
  const at = run.at ?? endOf(run);
  return (
    <>
      <td>
        <Badge run={run} />
      </td>
      <td>
        <a href={`#/runs/${run.runId}`}>{partName(run)}</a>
        {run.error && <p className="why">{cut(run.error.message, 300)}</p>}
      </td>
      <td>
        {name !== undefined && cut(name, 200)}
        {run.input !== undefined && <code className="why">{run.input}</code>}
        {run.tags && (
          <p className="why">
            <Tags of={run.tags} />
          </p>
        )}
      </td>
      <td>
        {at && (
          <>
            {cut(nodeName(at.path), 200)}{" "}
            <small>
              <Ago at={at.since} />
            </small>
          </>
        )}
      </td>
      <td>
        <Ago at={run.startedAt} />
      </td>
      <td>
        <Took run={run} />
      </td>
    </>
  );
}

/** Returns the node at which a run has failed, and when. */
const endOf = ({ error, endedAt }: ListedRun) =>
  error && error.node !== "" && endedAt !== undefined
    ? { path: error.node, since: endedAt }
    : undefined;

/** Shows how long a run took, or has taken until now. */
function Took({ run: { state, startedAt, endedAt } }: { run: ListedRun }) {
  const now = useNow(endedAt === undefined && state !== "pending");
  return state === "pending" ? (
    <>–</>
  ) : (
    <>{durationText(Math.max(0, (endedAt ?? now) - startedAt))}</>
  );
}
