import {
  type MutationRunner,
  type OverrideOptions,
  type QueryRunner,
  type Until,
  WorkflowManager,
  type WorkflowReference,
} from "@stepwise/workflow";
import type { ComponentApi } from "@stepwise/workflow/_generated/component.js";
import { compareValues, type Value } from "convex/values";
import type {
  ReadArgs,
  ReadName,
  ReadResult,
  RunsFilter,
  ShownRun,
  WriteArgs,
  WriteName,
  WriteResult,
} from "./data-source.js";
import { RUNS } from "./data-source.js";
import { eventsOf } from "./event-shapes.js";
import { exampleOf, shapeOf } from "./input-shape.js";

/** The generated `workflows`. */
export type Workflows = Readonly<Record<string, WorkflowReference<never>>>;

type ReadFunctions = {
  readonly [Name in ReadName]: (
    ctx: QueryRunner,
    args: ReadArgs<Name>,
  ) => Promise<ReadResult<Name>>;
};
type WriteFunctions = {
  readonly [Name in WriteName]: (
    ctx: MutationRunner & QueryRunner,
    args: WriteArgs<Name>,
  ) => Promise<WriteResult<Name>>;
};

/** Runs that are read for a page of a search. */
const SEARCHED = 500;
/** Runs that are counted, unless a call says another number: counts are read again and again. */
const COUNTED = 100;
/** Bulks that are shown. */
const BULKS = 10;
/** Rows of a page of a timeline. */
const STEPS = 100;

/** What the studio reads, by the manager's own functions, in the caller's transaction. */
export function readFunctions(component: ComponentApi, workflows: Workflows): ReadFunctions {
  const manager = managerOf(component, workflows);
  const where = (filter: RunsFilter) => filterOf(workflows, filter);
  return {
    workflows: async () =>
      Object.values(workflows).map(({ name, definition, stored, plan }) => {
        const input = shapeOf(definition.options.input);
        const nodes = Object.keys(definition.nodes);
        const events = eventsOf({ definition, stored });
        const secret = definition.options.sensitive ? { isSensitive: true as const } : {};
        return { name, nodes, plan, input, example: exampleOf(input), ...secret, events };
      }),
    runs: async (ctx, { cursor, ...filter }) => {
      const most = filter.text === undefined ? RUNS : SEARCHED;
      const options = { numItems: most, maximumRowsRead: most, cursor };
      const { read: searched, ...found } = await manager.list(ctx, where(filter), options);
      return { ...found, searched };
    },
    count: async (ctx, { upTo = COUNTED, ...filter }) =>
      await manager.bulk.count(ctx, where(filter), upTo),
    bulks: async (ctx) => (await manager.bulk.list(ctx, { numItems: BULKS, cursor: null })).page,
    place: async (ctx, of) => await ctx.runQuery(component.listing.place, of),
    run: async (ctx, { runId }) => {
      const found = await ctx.runQuery(component.views.status, { run: { runId } });
      if (found === null) return null;
      const workflow = storedAs(workflows, found.workflow);
      if (workflow !== undefined) {
        const status = await manager.status(ctx, workflow, runId);
        return status;
      }
      // The workflow was removed: its nodes have no other names than those that the run knew.
      const active = found.active.map(({ called, node, ...of }) => ({
        ...of,
        node: called ?? node,
      }));
      // Its output was checked when it was stored.
      return { ...found, active, isOutdated: true, isRemoved: true } as unknown as ShownRun;
    },
    input: async (ctx, { runId }) =>
      (await ctx.runQuery(component.views.input, { runId })) as Value,
    pool: async (ctx) => await ctx.runQuery(component.views.pool, {}),
    poolUse: async (ctx) => await ctx.runQuery(component.listing.poolUse, {}),
    limits: async (ctx) => await manager.limits.list(ctx),
    steps: async (ctx, { runId, cursor, withoutResults = false }) => {
      const workflow = await workflowOf(ctx, component, workflows, runId);
      const found = await manager.steps(ctx, workflow, runId, { numItems: STEPS, cursor });
      if (!withoutResults) return found;
      return { ...found, page: found.page.map(({ output: _output, ...entry }) => entry) };
    },
  };
}

/** What the studio does. Each is one transaction, that of the caller. */
export function writeFunctions(component: ComponentApi, workflows: Workflows): WriteFunctions {
  const manager = managerOf(component, workflows);
  const ofRun = async (ctx: QueryRunner, runId: string) =>
    await workflowOf(ctx, component, workflows, runId);
  return {
    start: async (ctx, { workflow, input, key, again }) => {
      const of = named(workflows, workflow);
      if (again !== undefined) await refuseUnlessEditable(ctx, component, of, again);
      // The workflow's schema parses it.
      return await manager.start(ctx, of, input as never, { key });
    },
    sendEvent: async (ctx, { runId, name, payload }) =>
      await manager.sendEvent(ctx, await ofRun(ctx, runId), runId, name, payload),
    cancel: async (ctx, { runId }) => await manager.cancel(ctx, runId),
    pause: async (ctx, { runId }) => await manager.pause(ctx, runId),
    resume: async (ctx, { runId }) => await manager.resume(ctx, runId),
    restart: async (ctx, { runId, from, iteration, input, isEdited }) => {
      const workflow = await ofRun(ctx, runId);
      if (isEdited === true) await refuseUnlessEditable(ctx, component, workflow, runId);
      await manager.restart(ctx, workflow, runId, { from, iteration, input: input as never });
      return null;
    },
    cleanup: async (ctx, { runId }) => {
      await manager.cleanup(ctx, runId);
      return null;
    },
    startBulk: async (ctx, { where, ...options }) =>
      await manager.bulk.start(ctx, { ...options, where: filterOf(workflows, where) }),
    stopBulk: async (ctx, { bulkId }) => await manager.bulk.stop(ctx, bulkId),
    repair: async (ctx) => {
      await manager.repair(ctx, workflows);
      return null;
    },
    overrideLimit: async (ctx, { name, lasts, ...numbers }) => {
      // The component refuses a key with a total.
      const said = { ...numbers, ...saidFor(lasts) } as OverrideOptions<Until>;
      await manager.limits.override(ctx, name, said);
      return null;
    },
    resetLimit: async (ctx, { name, key }) => {
      await manager.limits.reset(ctx, name, { key });
      return null;
    },
    pauseLimit: async (ctx, { name, key, lasts }) => {
      await manager.limits.pause(ctx, name, {
        ...(key !== undefined && { key }),
        ...saidFor(lasts),
      });
      return null;
    },
    resumeLimit: async (ctx, { name, key }) => {
      await manager.limits.resume(ctx, name, { key });
      return null;
    },
  };
}

/** Who says something of a limit, and for how long. The manager refuses what is no duration. */
const saidFor = (lasts: string | undefined) => ({
  until: lasts as Until | undefined,
  by: "studio",
});

/** A filter as the manager takes it. @throws if the app has no such workflow */
function filterOf(workflows: Workflows, { workflow, ...filter }: RunsFilter) {
  return { ...filter, ...(workflow !== undefined && { workflow: named(workflows, workflow) }) };
}

/** @throws if a stored input is not shown as a whole, or its schema would change it once more */
async function refuseUnlessEditable(
  ctx: QueryRunner,
  component: ComponentApi,
  { name, parse, definition }: WorkflowReference<never>,
  runId: string,
): Promise<void> {
  if (definition.options.sensitive)
    throw new Error(
      `The input of ${name} is sensitive, so what you have edited lacks a part of it. Start a new run with your input instead`,
    );
  const stored: unknown = await ctx.runQuery(component.views.input, { runId });
  let once: Value;
  try {
    once = parse(stored);
  } catch {
    // What does not fit is named when the edited input is parsed.
    return;
  }
  if (compareValues(once, parse(once)) !== 0)
    throw new Error(
      `The schema of ${name} changes an input each time that it parses it, and it has parsed this one already. Start a new run with your input instead`,
    );
}

/** A manager that calls each workflow as the app does, and knows its limits before any run does. */
function managerOf(component: ComponentApi, workflows: Workflows): WorkflowManager {
  const all = Object.values(workflows);
  const renamed = Object.fromEntries(all.map(({ storedAs, name }) => [storedAs, name]));
  const { limits } = all.find((each) => each.limits !== undefined) ?? {};
  return new WorkflowManager(component, { renamed, ...(limits && { limits }) });
}

/** The workflow whose runs are stored under a name. */
const storedAs = (workflows: Workflows, name: string): WorkflowReference<never> | undefined =>
  Object.values(workflows).find((each) => each.storedAs === name);

/** @throws if the app has no such workflow */
function named(workflows: Workflows, name: string): WorkflowReference<never> {
  const found = Object.hasOwn(workflows, name) ? workflows[name] : undefined;
  if (found !== undefined) return found;
  const known = Object.keys(workflows).join(", ");
  throw new Error(`The app has no workflow ${JSON.stringify(name)}. Its workflows are: ${known}`);
}

/** @throws if there is no such run, or the app has its workflow no more */
async function workflowOf(
  ctx: QueryRunner,
  component: ComponentApi,
  workflows: Workflows,
  runId: string,
) {
  const found = await ctx.runQuery(component.views.status, { run: { runId } });
  if (found === null) throw new Error(`There is no run ${JSON.stringify(runId)}`);
  return storedAs(workflows, found.workflow) ?? named(workflows, found.workflow);
}
