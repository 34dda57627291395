import type {
  FunctionArgs,
  FunctionReference,
  FunctionReturnType,
  FunctionVisibility,
} from "convex/server";
import type { RunId } from "../client/manager.js";
import type { ComponentApi } from "../component/_generated/component.js";

export type AnyQuery = FunctionReference<"query", FunctionVisibility, any, any>;
type Ask = <Query extends AnyQuery>(
  query: Query,
  args: FunctionArgs<Query>,
) => Promise<FunctionReturnType<Query>>;

type Records = FunctionReturnType<ComponentApi["listing"]["steps"]>;
type StepRecord = NonNullable<Records>["records"][number];
type RunStatus = FunctionReturnType<ComponentApi["views"]["status"]>;
type Children = FunctionReturnType<ComponentApi["listing"]["runs"]>;

/** How many records or children are asked for at once. */
const PAGE = 500;

/** The lines of a timeline: see `TestKit.timeline`. */
export class Lines {
  constructor(
    private readonly component: ComponentApi,
    private readonly query: Ask,
  ) {}

  /** @throws if there is no such run. */
  async of(runId: RunId): Promise<string[]> {
    const { steps } = this.component.listing;
    const lines: string[] = [];
    for (let cursor: string | null = null; ;) {
      const page: Records = await this.query(steps, { runId, page: { numItems: PAGE, cursor } });
      if (page === null) throw new Error(`There is no run "${runId}"`);
      for (const record of page.records) {
        const { stage, called = stage, iterations = [], state, attempt, held = 0 } = record;
        const inLoops = iterations.length === 0 ? "" : ` #${iterations.join(".")}`;
        const counted = attempt - held;
        const beside = held === 0 ? "" : ` beside ${held} held`;
        const attempts =
          attempt === 1 ? "" : `, ${counted} ${counted === 1 ? "attempt" : "attempts"}${beside}`;
        const late = record.errors.at(-1)?.waitedFor;
        const tooLong = late !== undefined ? `, waited too long ${late}` : "";
        const why = record.endedAt === undefined ? await this.#whyNot(record, runId) : "";
        // A wait of which no event came in time.
        const how = record.came === null ? "timed out" : state;
        const line = `${called}${inLoops} ${how}${tooLong}${attempts}${why}`;
        lines.push(line, ...(await this.#childLines(record)));
      }
      if (page.isDone) return lines;
      cursor = page.continueCursor;
    }
  }

  /**
   * Returns what keeps back a step: a pause, a limit, a hold, another run of its key, or more
   * starts.
   */
  async #whyNot(record: StepRecord, runId: RunId): Promise<string> {
    const { kind, state, paused, waitsFor, holds, dueAt } = record;
    if (paused) return ", paused";
    if (holds !== undefined && dueAt !== undefined)
      return `, held until ${new Date(dueAt).toISOString()}, as the limit ${holds} is`;
    if (waitsFor !== undefined) {
      const { limit, key, running, atMost, place, fairness, nextAt, paused: pause } = waitsFor;
      const among = fairness === undefined ? "" : ` of ${fairness}`;
      const of = key === undefined ? limit : `${limit} ${key}`;
      const { by, until } = pause ?? {};
      const byWhom = by === undefined ? "" : ` by ${by}`;
      const ends = until === undefined ? "" : ` until ${new Date(until).toISOString()}`;
      const used = `${running} of ${atMost}`;
      const isFull = nextAt === undefined ? `${used} running` : `rate used up, ${used}`;
      const why = pause ? `paused${byWhom}${ends}` : isFull;
      return `, waiting for the limit ${of} (${why}), place ${place}${among}`;
    }
    if (kind === "turn" && state === "waiting") {
      const status = await this.#statusOf(runId);
      const { key, place, runId: holder } = status?.waitsFor ?? {};
      const after = holder === undefined ? "" : `, after the run ${holder}`;
      return key === undefined
        ? ""
        : `, waiting for its turn with the key ${JSON.stringify(key)}, place ${place}${after}`;
    }
    if (kind === "collect" && state === "waiting") {
      const status = await this.#statusOf(runId);
      if (status?.collecting === undefined) return "";
      const { key, items, until } = status.collecting;
      const starts = `${items} ${items === 1 ? "start" : "starts"}`;
      const latest = new Date(until).toISOString();
      return `, collecting ${starts} with the key ${JSON.stringify(key)}, begins at the latest at ${latest}`;
    }
    if (kind !== "action" || state !== "pending") return "";
    const pool = await this.query(this.component.limits.get, { name: "maxParallelism" });
    return pool?.paused === undefined ? "" : ", waiting for a slot: maxParallelism is paused";
  }

  async #statusOf(runId: RunId): Promise<RunStatus> {
    return await this.query(this.component.views.status, { run: { runId } });
  }

  /** The lines of the runs that began at a step. Neighbors with the same lines share them. */
  async #childLines({ id: parent, single }: StepRecord): Promise<string[]> {
    const groups: { first: string; last: string; lines: string[] }[] = [];
    if (parent === undefined) return [];
    for (let cursor: string | null = null; ;) {
      const options = { numItems: PAGE, cursor };
      const page: Children = await this.query(this.component.listing.runs, {
        parent,
        page: options,
      });
      for (const { runId, index, childKey: key = String(index), ...child } of page.page) {
        const of = child.within === undefined ? `${child.workflow} ` : "";
        const lines = [`${of}${child.state}`, ...indented(await this.of(runId))];
        const group = groups.at(-1);
        if (group !== undefined && String(group.lines) === String(lines)) group.last = key;
        else groups.push({ first: key, last: key, lines });
      }
      if (page.isDone) break;
      cursor = page.continueCursor;
    }
    const lines = groups.flatMap(({ first, last, lines: [head = "", ...rest] }) => {
      const which = first === last ? first : `${first}..${last}`;
      return [single ? head : `[${which}] ${head}`, ...rest];
    });
    return indented(lines);
  }
}

const indented = (lines: readonly string[]): string[] => lines.map((line) => `  ${line}`);
