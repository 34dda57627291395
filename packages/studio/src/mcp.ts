import { once } from "node:events";
import { Writable } from "node:stream";
import { McpServer } from "@modelcontextprotocol/server";
import { StdioServerTransport } from "@modelcontextprotocol/server/stdio";
import { jsonOf } from "@stepwise/workflow/rules";
import { convexToJson, jsonToConvex, type JSONValue, type Value } from "convex/values";
import { z } from "zod";
import {
  BULK_VERBS,
  type DataSource,
  DOING,
  type ReadArgs,
  type ReadName,
  STATES,
} from "./data-source.js";

export interface SkippingRun {
  readonly workflow: string;
  readonly input: unknown;
  readonly events: readonly unknown[];
}

export interface McpOptions {
  readonly version: string;
  /** Ends the server. The end of stdin does so too. */
  readonly signal: AbortSignal;
  /** Compiles the definitions, takes them in, and tells what is wrong with them, as JSON. */
  check(): Promise<unknown>;
  /** What each node and each run costs, as JSON. */
  explain(): Promise<unknown>;
  /** Runs a workflow by itself to its end, at once however long it waits, as JSON. */
  runSkippingTime(run: SkippingRun): Promise<unknown>;
  /** Called at each call: the runs may come from an app that was opened since. */
  source(): Promise<DataSource>;
}

const runId = z.string().describe("the id that start_run returned, or list_runs shows");
const cursor = z.string().nullable().default(null).describe("continueCursor of the page before");
const json = z
  .unknown()
  .transform((value, { addIssue }) => {
    if (value === undefined) {
      addIssue({ code: "custom", message: "is missing: give a value as JSON, such as {}" });
      return z.NEVER;
    }
    try {
      return jsonToConvex(jsonOf(JSON.stringify(value)) as JSONValue);
    } catch (error) {
      addIssue({ code: "custom", message: `is no value of Convex: ${(error as Error).message}` });
      return z.NEVER;
    }
  })
  .describe("a value as JSON");
const time = z.iso
  .datetime({ offset: true })
  .transform((text) => Date.parse(text))
  .optional();

const filter = {
  workflow: z.string().optional(),
  state: z.enum(STATES).optional(),
  doing: z.enum(DOING).optional().describe("only runs that do this now, or have a child that does"),
  node: z.string().optional().describe("only runs at this node of the workflow"),
  parent: z.string().optional().describe("only the children of this run"),
  key: z.string().optional().describe("only runs of the workflow whose key begins with this"),
  tag: z
    .record(z.string(), z.union([z.string(), z.number(), z.boolean()]))
    .optional()
    .describe('only runs with this tag, such as { "org": "acme" }'),
  text: z.string().optional().describe("in keys, ids and errors; a page searches 500 runs"),
  since: time.describe("only runs created from then on"),
  until: time.describe("only runs created before then"),
  outdated: z.boolean().optional().describe("only runs of older plans of the workflow"),
};

const limit = {
  name: z.string().describe('of list_limits, such as "maxParallelism"'),
  key: z.string().optional().describe("one key of it; default: the limit with all of its keys"),
};
const saidOfLimit = {
  ...limit,
  lasts: z
    .string()
    .optional()
    .describe('for how long, such as "1h" or "3 days"; default: until somebody ends it'),
};

/** Offers workflows and their runs to an agent over stdin and stdout, until it closes stdin. */
export async function serveMcp(options: McpOptions): Promise<void> {
  const server = new McpServer({ name: "stepwise", version: options.version });
  const tool = <Shape extends z.ZodRawShape>(
    name: string,
    description: string,
    shape: Shape,
    act: (args: z.infer<z.ZodObject<Shape>>) => Promise<unknown>,
  ) =>
    // Of a misspelled filter nothing would be left, and then all runs match.
    server.registerTool(name, { description, inputSchema: z.strictObject(shape) }, async (args) => {
      const text = JSON.stringify(await act(args as z.infer<z.ZodObject<Shape>>), undefined, 2);
      return { content: [{ type: "text", text }] };
    });
  const read = async <Name extends ReadName>(name: Name, args: ReadArgs<Name>) =>
    convexToJson((await (await options.source()).read(name, args)) as Value);
  const write: DataSource["write"] = async (name, args) =>
    await (await options.source()).write(name, args);

  tool(
    "check",
    "Compile the workflow definitions and load them. Call it after each edit. It reports what is wrong with them, and which changes since the main branch would stop runs in flight. Workflows in files that you add after the first run need a restart of this server.",
    {},
    () => options.check(),
  );
  tool("explain", "What each node and each run costs, reads, and takes at worst.", {}, () =>
    options.explain(),
  );
  tool("list_workflows", "The workflows, each with an example of its input.", {}, () =>
    read("workflows", {}),
  );
  tool(
    "list_runs",
    "The runs, the newest first, in pages. A page can be empty without being the last: it says how many runs it has searched.",
    { ...filter, cursor },
    (args) => read("runs", args),
  );
  tool("get_run", "A run: its state, where it is, and its output or error.", { runId }, (args) =>
    read("run", args),
  );
  tool(
    "timeline",
    "What a run has done, node by node, with results and the errors of each attempt, in pages.",
    { runId, cursor },
    (args) => read("steps", args),
  );
  tool(
    "start_run",
    "Start a run; returns its id.",
    { workflow: z.string(), input: json, key: z.string().optional() },
    (args) => write("start", args),
  );
  tool(
    "send_event",
    "Send an event to a run that waits for it, or will.",
    { runId, name: z.string(), payload: json },
    (args) => write("sendEvent", args),
  );
  tool(
    "restart_run",
    "Restart a run that has ended, whole or from a node on its top level, with the same input or another one. Nodes before `from` keep their results from the old input. A loop goes on with the iteration that failed, or with `iteration`, from 1.",
    {
      runId,
      from: z.string().optional(),
      iteration: z.number().int().min(1).optional(),
      input: json.optional(),
    },
    (args) => write("restart", args),
  );
  tool("cancel_run", "Cancel a run, and run its compensations.", { runId }, (args) =>
    write("cancel", args),
  );
  tool(
    "pause_run",
    "Pause a run: nothing new begins until it is resumed. Returns whether that changed anything.",
    { runId },
    (args) => write("pause", args),
  );
  tool(
    "resume_run",
    "Resume a run that is paused. Returns whether that changed anything.",
    { runId },
    (args) => write("resume", args),
  );
  tool(
    "remove_run",
    "Remove a run that has ended, with its children and their results. It cannot be undone.",
    { runId },
    (args) => write("cleanup", args),
  );
  tool(
    "count_runs",
    "Count the runs that a filter matches, up to 1,000. Call it before start_bulk.",
    filter,
    (args) => read("count", { ...args, upTo: 1_000 }),
  );
  tool(
    "start_bulk",
    "Do something to all runs of a filter that exist now, in the background; returns its id. It stops by itself when more than half of 100 runs are refused.",
    {
      do: z.enum(BULK_VERBS),
      where: z.strictObject(filter),
      perSecond: z.number().positive().optional(),
    },
    (args) => write("startBulk", args),
  );
  tool("list_bulks", "The newest ten bulks, how far each is, and why runs were refused.", {}, () =>
    read("bulks", {}),
  );
  tool("stop_bulk", "Stop a bulk. What it has done stays.", { bulkId: z.string() }, (args) =>
    write("stopBulk", args),
  );
  tool("repair", "Let all runs that are stalled go on. A second call does no harm.", {}, () =>
    write("repair", {}),
  );
  tool(
    "list_limits",
    "List how many actions each limit and its keys let run at once, how many run and wait, and who set what. The first is maxParallelism, the limit of all actions.",
    {},
    () => read("limits", {}),
  );
  tool(
    "override_limit",
    "Override the numbers of a limit, or of one key of it: perKey for each key, total in all. For maxParallelism, give total.",
    {
      ...saidOfLimit,
      total: z.number().int().min(0).optional(),
      perKey: z.number().int().min(0).optional(),
    },
    (args) => write("overrideLimit", args),
  );
  tool("reset_limit", "End an override: go back to the code's numbers.", limit, (args) =>
    write("resetLimit", args),
  );
  tool(
    "pause_limit",
    "Let no step of a limit, or of one key of it, start until it is resumed. Running steps end as usual.",
    saidOfLimit,
    (args) => write("pauseLimit", args),
  );
  tool(
    "resume_limit",
    "Let the steps of a limit, or of one key of it, start again.",
    limit,
    (args) => write("resumeLimit", args),
  );
  tool(
    "run_skipping_time",
    "Run a workflow to its end on a back end of its own, and skip its backoff, timeouts and sleeps. It returns the output and the progress. list_runs does not show the run.",
    {
      workflow: z.string(),
      input: z.unknown().describe("the input as JSON"),
      events: z
        .array(
          z.strictObject({
            name: z.string(),
            value: z.unknown(),
            at: z.string().optional(),
            in: z.string().optional(),
          }),
        )
        .default([])
        .describe(
          'events to send; without "at", such as "10m", as soon as a run waits for one; with "in", such as "reviews/1", only to the child, branch or item there',
        ),
    },
    (args) => options.runSkippingTime(args),
  );

  await server.connect(new StdioServerTransport(process.stdin, ownOutput()));
  await Promise.race([once(process.stdin, "end"), once(options.signal, "abort")]);
  await server.close();
}

/** Stdout, for answers alone: what the app's functions write to it goes to stderr from now on. */
function ownOutput(): Writable {
  const write = process.stdout.write.bind(process.stdout);
  process.stdout.write = process.stderr.write.bind(process.stderr);
  return new Writable({ write: (chunk, encoding, done) => void write(chunk, encoding, done) });
}
