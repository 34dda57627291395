import { Command, InvalidArgumentError, Option } from "commander";
import { suggestion } from "../diagnostics/nearest.js";
import { compilerVersion } from "../version.js";
import type { CheckOptions } from "./check.js";
import type { DevOptions } from "./dev.js";
import type { ExplainOptions } from "./explain.js";
import { UsageError } from "./functions-folder.js";
import type { GenerateOptions } from "./generate.js";
import type { GraphOptions } from "./graph.js";
import type { InitOptions } from "./init.js";
import type { McpOptions } from "./mcp.js";
import type { RunOptions } from "./run.js";
import type { StudioOptions } from "./studio.js";
import type { Terminal } from "./terminal.js";

/** Does what the words of a command line say; options may stand before the command too. */
export async function runProgram(terminal: Terminal, words: readonly string[]): Promise<void> {
  const program = createProgram(terminal).exitOverride();
  await program.parseAsync(commandFirst(program, words), { from: "user" });
}

/** Puts the command first, or commander gives `--dir backend check` to the default command. */
function commandFirst(program: Command, words: readonly string[]): string[] {
  const valued = new Set(
    program.commands.flatMap(({ options }) =>
      options.flatMap(({ long, required }) => (required && long != null ? [long] : [])),
    ),
  );
  const at = words.findIndex(
    (word, index) => !word.startsWith("-") && !valued.has(words[index - 1] ?? ""),
  );
  const command = words[at];
  if (at <= 0 || !program.commands.some((each) => each.name() === command)) return [...words];
  return [command ?? "", ...words.slice(0, at), ...words.slice(at + 1)];
}

/** The commands of `workflow-codegen`. What each does is loaded when it is asked for. */
function createProgram(terminal: Terminal): Command {
  const program = new Command("workflow-codegen")
    .description(
      "Compiles Stepwise workflow definitions (*.workflow.ts) to ordinary Convex functions.",
    )
    .version(compilerVersion())
    .showHelpAfterError("(run with --help for the commands and their options)")
    .configureOutput({
      writeOut: (text) => terminal.stdout.write(text),
      writeErr: (text) => terminal.stderr.write(text),
    })
    .addHelpText(
      "after",
      examples([
        "workflow-codegen                 compile convex/**/*.workflow.ts into convex/_workflows",
        "workflow-codegen --dir backend   the same for another functions folder",
        "workflow-codegen --watch         the same after every save",
        "workflow-codegen init            make an app ready for workflows",
      ]),
    );
  addGenerate(program, terminal);
  addDev(program, terminal);
  addInit(program, terminal);
  addCheck(program, terminal);
  addGraph(program, terminal);
  addExplain(program, terminal);
  addRun(program);
  addStudio(program, terminal);
  addMcp(program, terminal);
  return program;
}

/** A command, which has `--dir`; `note` and command lines stand below its options. */
const command = (
  program: Command,
  name: string,
  description: string,
  lines: readonly string[],
  note?: string,
): Command =>
  program
    .command(name, { isDefault: name === "generate" })
    .description(description)
    .option(
      "--dir <folder>",
      'the functions folder (default: "functions" of convex.json, else convex)',
    )
    .addHelpText("after", examples(lines, note));

function examples(lines: readonly string[], note?: string): string {
  const before = note === undefined ? "" : `\n${note}\n`;
  return `${before}\nExamples:\n${lines.map((line) => `  $ ${line}`).join("\n")}`;
}

function addGenerate(program: Command, terminal: Terminal): void {
  command(program, "generate", "compile the workflows and write convex/_workflows (the default)", [
    "workflow-codegen",
    "workflow-codegen generate --dir backend/convex",
    "workflow-codegen --watch         beside `npx convex dev`",
    "workflow-codegen --json          for tools: { ok, problems, written, removed, tombstones, workflows, nodes }",
  ])
    .option("--watch", "stay, and compile again whenever a definition is saved")
    .option("--force", "write over generated files that were edited by hand or are damaged")
    .option(
      "--against <ref or plan>",
      "what is deployed, whose runs are left what they need: a git ref, or a plan (default: the main branch)",
    )
    .option("--json", "print problems and what was written as JSON, to stdout")
    // The first word is taken for an argument of the default command when no command has that name.
    .allowExcessArguments()
    .action(async (options: GenerateOptions, command: Command) => {
      const [word] = command.args;
      if (word !== undefined) {
        const commands = program.createHelp().visibleCommands(program);
        const names = commands.map((each) => each.name());
        const hint = suggestion(word, names, "commands");
        throw new UsageError(`There is no command ${JSON.stringify(word)}. ${hint}`);
      }
      const { generate } = await import("./generate.js");
      terminal.exitCode = await generate(options, terminal);
    });
}

function addDev(program: Command, terminal: Terminal): void {
  command(
    program,
    "dev",
    "compile after every save, and run `convex dev` beside it",
    ["workflow-codegen dev", "workflow-codegen dev -- --tail-logs always"],
    "Ctrl-C ends both. When `convex dev` ends, its exit code is this command's.",
  )
    .argument("[convex-options...]", "options of `convex dev`, after --")
    .action(async (convexOptions: string[], options: DevOptions) => {
      const { dev } = await import("./dev.js");
      terminal.exitCode = await dev(convexOptions, options, terminal);
    });
}

function addInit(program: Command, terminal: Terminal): void {
  command(
    program,
    "init",
    "make an app ready for workflows: the component, a first workflow, the scripts",
    ["workflow-codegen init", "workflow-codegen init --dir backend/convex"],
    "What is there already stays as it is, so it may be run again at any time.",
  ).action(async (options: InitOptions) => {
    const { init } = await import("./init.js");
    terminal.exitCode = init(options, terminal);
  });
}

function addCheck(program: Command, terminal: Terminal): void {
  command(
    program,
    "check",
    "say what is out of date, and what becomes of runs in flight; write nothing",
    [
      "workflow-codegen check",
      "workflow-codegen check --against production         a branch or tag with what is deployed",
      "workflow-codegen check --drop                       when no older run is in flight any more",
    ],
    "Exits with 1 on errors, when generate would write or remove something, and on changes that stop runs in flight." +
      "\nNodes and workflows that are gone leave their functions behind, for the runs that are at them; --drop is the only way to remove these.",
  )
    .option(
      "--against <ref or plan>",
      "what is deployed: a git ref, or a plan (default: the main branch)",
    )
    .option("--json", "print what was found as JSON, to stdout")
    .option(
      "--drop",
      "when all is well, remove what nodes and workflows that are gone have left; with --against, but for what runs of that plan may need",
    )
    .action(async (options: CheckOptions) => {
      const { check } = await import("./check.js");
      terminal.exitCode = await check(options, terminal);
    });
}

function addGraph(program: Command, terminal: Terminal): void {
  command(
    program,
    "graph",
    "draw the workflows: nodes, how they are run, and the children they start",
    [
      "workflow-codegen graph > workflows.mmd",
      "workflow-codegen graph ingestDocument --format dot | dot -Tsvg -o ingest.svg",
    ],
  )
    .argument("[workflow]", "only this one (default: all)")
    .addOption(
      new Option("--format <format>", "what to write it in")
        .choices(["mermaid", "dot", "json"] satisfies GraphOptions["format"][])
        .default("mermaid"),
    )
    .option("--out <file>", "write it there, in the place of stdout")
    .action(async (workflow: string | undefined, options: GraphOptions) => {
      const { graph } = await import("./graph.js");
      terminal.exitCode = await graph(workflow, options, terminal);
    });
}

function addExplain(program: Command, terminal: Terminal): void {
  command(
    program,
    "explain",
    "what each node and each run costs, reads, and takes at worst; or what a problem means",
    [
      "workflow-codegen explain ingestDocument",
      "workflow-codegen explain --json",
      "workflow-codegen explain SW1206          the page of a problem",
    ],
    "Root executions are functions that are scheduled, called from outside, or called by an action, when nothing fails.",
  )
    .argument("[topic]", "a workflow (default: all), or the code of a problem")
    .option("--json", "print it as JSON")
    .action(async (topic: string | undefined, options: ExplainOptions) => {
      const { explain } = await import("./explain.js");
      terminal.exitCode = await explain(topic, options, terminal);
    });
}

function addRun(program: Command): void {
  command(
    program,
    "run",
    "compile, then run a workflow in this process: no account, no network",
    [
      'workflow-codegen run greet --input \'{ "name": "Ada" }\'',
      "workflow-codegen run ingest --input @input.json --file storageId=@report.pdf",
      'workflow-codegen run order --skip-time --random 1 --events \'[{ "name": "approval", "value": { "ok": true } }]\'',
    ],
    "The output is printed to stdout as JSON, progress to stderr. Exits with 1 when the run fails.\n" +
      'A seeded document may have a label as its "_id"; "$id:label" in the input or a later document is its id.\n' +
      "Functions see the environment variables of .env.local and .env, as the Convex CLI reads them.",
  )
    .argument("<workflow>", "the name of an exported definition")
    .option("--input <json>", "the run's input as JSON, or @path of a file that holds it", "{}")
    .option(
      "--file <field=@path>",
      "put a file into storage, and its id into that field of the input; may be repeated",
      collectFile,
    )
    .option(
      "--events <json>",
      'events to send, as JSON or @path: [{ "name", "value", "at": "10m" }]; without "at", when a run waits for it',
    )
    .option("--skip-time", "do not wait for backoff, timeouts and sleeps", false)
    .option("--seed <path>", "a JSON file of documents to insert first: { table: [document, …] }")
    .option("--random <number>", "give Math.random the same numbers each time", wholeNumber)
    .option("--quiet", "print the output, and what went wrong, but no progress", false)
    .action(async (workflow: string, options: RunOptions) => {
      const { runCommand } = await import("./run.js");
      await runCommand(workflow, options);
    });
}

/** Where `studio` and `mcp` get their runs from. */
const sourceOptions = (of: Command): Command =>
  of
    .option("--seed <path>", "a JSON file of documents to insert first: { table: [document, …] }")
    .option(
      "--url <address>",
      "the deployment whose runs are shown, in the place of the embedded back end",
    )
    .option("--module <name>", "the module of its functions of defineStudioApi", "studio");

const deployKeyNote = "A deployment is asked with CONVEX_DEPLOY_KEY, if that is set.";

function addStudio(program: Command, terminal: Terminal): void {
  sourceOptions(
    command(
      program,
      "studio",
      "open a local page that shows workflows and runs, live, and steers them",
      [
        "workflow-codegen studio --seed seed.json",
        "workflow-codegen studio --url https://happy-otter-123.convex.cloud",
      ],
      "It compiles on every save. On the embedded back end, runs and data are kept until it is closed." +
        `\nIt listens on this machine only, and its address holds a token that is new each time.\n${deployKeyNote}`,
    ),
  )
    .option("--port <number>", "the port to listen on (default: any that is free)", wholeNumber)
    .action(async (options: StudioOptions) => {
      const { studio } = await import("./studio.js");
      terminal.exitCode = await studio(options, terminal);
    });
}

function addMcp(program: Command, terminal: Terminal): void {
  sourceOptions(
    command(
      program,
      "mcp",
      "offer workflows and runs to a coding agent, by the Model Context Protocol",
      ["workflow-codegen mcp"],
      `It speaks over stdin and stdout: give this command to your agent.\n${deployKeyNote}`,
    ),
  ).action(async (options: McpOptions) => {
    const { mcp } = await import("./mcp.js");
    terminal.exitCode = await mcp(options, terminal);
  });
}

type Files = NonNullable<RunOptions["file"]>;

function collectFile(given: string, before: Files = []): Files {
  const [, field, path] = /^([^=]+)=@?(.+)$/.exec(given) ?? [];
  if (field !== undefined && path !== undefined) return [...before, { field, path }];
  throw new InvalidArgumentError("It must be field=@path, such as storageId=@report.txt.");
}

function wholeNumber(given: string): number {
  const number = Number(given);
  if (Number.isSafeInteger(number)) return number;
  throw new InvalidArgumentError("It must be a whole number.");
}
