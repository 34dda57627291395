import { once } from "node:events";
import { McpServer } from "@modelcontextprotocol/server";
import { StdioServerTransport } from "@modelcontextprotocol/server/stdio";
import type { DataSource, ReadName, Reads } from "@stepwise/studio";
import { convexToJson, jsonToConvex, type JSONValue, type Value } from "convex/values";
import { z } from "zod";
import { compile, writeGenerated, type CompileResult } from "../compile.js";
import { explain } from "../explain/explain.js";
import { compilerVersion } from "../version.js";
import { functionsFolder, UsageError } from "./functions-folder.js";
import { answerOf, baselineFor } from "./plans.js";
import { withoutFrames } from "./report.js";
import { openSource, type OpenSource, type SourceOptions } from "./source.js";
import { interruptOf, type Terminal } from "./terminal.js";

const runId = z.string().describe("the id that start_run returned, or list_runs shows");
const cursor = z.string().nullable().default(null).describe("continueCursor of the page before");
const json = z
  .unknown()
  .transform((value) => jsonToConvex(value as JSONValue))
  .describe("a value as JSON");
const time = z.iso
  .datetime({ offset: true })
  .transform((text) => Date.parse(text))
  .optional();

/** Offers the workflows and their runs to a coding agent, until it closes stdin. */
export async function mcp(options: SourceOptions, terminal: Terminal): Promise<0 | 1> {
  const functionsDir = functionsFolder(terminal.cwd, options.dir);
  const baseline = await baselineFor(undefined, functionsDir, terminal.cwd);
  let opened: OpenSource | undefined;
  const latest = async (): Promise<CompileResult> => {
    const result = await compile({ functionsDir, baseline });
    if (!result.ok) return result;
    const { files, output } = result;
    await writeGenerated(functionsDir, files, { folders: [output] });
    await opened?.reload();
    return result;
  };
  const source = async () => {
    if (opened !== undefined) return opened.source;
    const result = await latest();
    if (!result.ok) throw new UsageError("The workflows do not compile. Call check.");
    opened = await openSource(functionsDir, result, options, (text) =>
      terminal.stderr.write(`${text}\n`),
    );
    return opened.source;
  };

  const server = new McpServer({ name: "stepwise", version: compilerVersion() });
  const tool = <Shape extends z.ZodRawShape>(
    name: string,
    description: string,
    shape: Shape,
    act: (args: z.infer<z.ZodObject<Shape>>) => Promise<unknown>,
  ) =>
    server.registerTool(name, { description, inputSchema: z.object(shape) }, async (args) => {
      const text = JSON.stringify(await act(args as z.infer<z.ZodObject<Shape>>), undefined, 2);
      return { content: [{ type: "text", text }] };
    });
  const read = async <Name extends ReadName>(name: Name, args: Parameters<Reads[Name]>[0]) =>
    convexToJson((await (await source()).read(name, args)) as Value);
  const write: DataSource["write"] = async (name, args) => await (await source()).write(name, args);

  tool(
    "check",
    "Compile the workflow definitions, and take them in: call it after each edit. It tells what is wrong with them, and which changes since the main branch would stop runs in flight.",
    {},
    async () => {
      const result = await latest();
      const { changes } = answerOf(functionsDir, result);
      return { ok: result.ok, problems: result.diagnostics.map(withoutFrames), changes };
    },
  );
  tool("explain", "What each node and each run costs, reads, and takes at worst.", {}, async () =>
    explain((await latest()).plan),
  );
  tool("list_workflows", "The workflows, each with an example of its input.", {}, () =>
    read("workflows", {}),
  );
  tool(
    "list_runs",
    "The runs, the newest first, in pages. A page can be empty and not be the last.",
    {
      workflow: z.string().optional(),
      state: z
        .enum(["pending", "running", "compensating", "completed", "failed", "canceled", "timedOut"])
        .optional(),
      node: z.string().optional().describe("only runs at this node of the workflow"),
      parent: z.string().optional().describe("only the children of this run"),
      key: z.string().optional().describe("only runs of the workflow whose key begins so"),
      text: z.string().optional().describe("in keys, ids and errors; a page searches 500 runs"),
      since: time.describe("only runs created from then on"),
      until: time.describe("only runs created before then"),
      outdated: z.boolean().optional().describe("only runs of older plans of the workflow"),
      cursor,
    },
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
    "Restart a run that has ended, whole or from a node on its top level, with the same input or another one. Nodes before `from` keep what they made of the old input.",
    { runId, from: z.string().optional(), input: json.optional() },
    (args) => write("restart", args),
  );
  tool("cancel_run", "Cancel a run, and undo what has a compensation.", { runId }, (args) =>
    write("cancel", args),
  );

  const transport = new StdioServerTransport();
  await server.connect(transport);
  await Promise.race([once(process.stdin, "end"), once(interruptOf(terminal), "abort")]);
  await server.close();
  await opened?.close();
  return 0;
}
