import { Command, InvalidArgumentError, Option } from "commander";
import { suggestion } from "../diagnostics/nearest.js";
import { printable } from "../diagnostics/printable.js";
import { compilerVersion } from "../version.js";
import { UsageError } from "./functions-folder.js";
import type { RunOptions } from "./run.js";
import type { Terminal } from "./terminal.js";

/** Does what the words of a command line say; options may stand before the command too. */
export async function runProgram(terminal: Terminal, words: readonly string[]): Promise<void> {
  const program = createProgram(terminal);
  await program.parseAsync(commandFirst(program, words), { from: "user" });
}

/** Puts the command first: of `--dir backend check`, commander would read the default command. */
function commandFirst(program: Command, words: readonly string[]): string[] {
  const options = program.commands.flatMap((command) => command.options);
  const valued = new Set(options.filter(({ required }) => required).map(({ long }) => long));
  const at = words.findIndex(
    (word, index) => !word.startsWith("-") && !valued.has(words[index - 1]),
  );
  const word = words[at];
  if (word === undefined) return [...words];
  const names = program
    .createHelp()
    .visibleCommands(program)
    .map((command) => command.name());
  if (names.includes(word)) return [word, ...words.toSpliced(at, 1)];
  const hint = suggestion(word, names, "commands");
  throw new UsageError(`There is no command ${JSON.stringify(word)}. ${hint}`);
}

/** What a command does with the arguments and options that commander has read, and the terminal. */
type Act = (...given: never[]) => Promise<number> | number;

const seedOption = [
  "--seed <path>",
  "a JSON file of documents to insert first: { table: [document, …] }",
] as const;

/** Options of a run without the studio. */
const headless = ["events", "skipTime", "random", "quiet"];

function createProgram(terminal: Terminal): Command {
  const program = new Command("workflow-codegen")
    // The commands take it over when they are added: none of them ends the process.
    .exitOverride()
    .description(
      "Compiles Stepwise workflow definitions (*.workflow.ts) to ordinary Convex functions.",
    )
    .version(compilerVersion())
    .showHelpAfterError("(run with --help for the commands and their options)")
    .configureOutput({
      writeOut: (text) => terminal.stdout.write(printable(text, terminal.color)),
      writeErr: (text) => terminal.stderr.write(printable(text, terminal.color)),
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
  /** A command, which has `--dir`; `note` and command lines stand below its options. */
  const command = (
    name: string,
    about: string,
    load: () => Promise<Act>,
    lines: readonly string[],
    note?: string,
  ): Command =>
    program
      .command(name, { isDefault: name === "generate" })
      .description(about)
      .option(
        "--dir <folder>",
        'the functions folder (default: "functions" of convex.json, else convex)',
      )
      .addHelpText("after", examples(lines, note))
      .action(async (...given: unknown[]) => {
        const act = await load();
        // Its last argument is the command itself. What the others are is said below.
        terminal.exitCode = await act(...([...given.slice(0, -1), terminal] as never[]));
      });

  command(
    "generate",
    "compile the workflows and write convex/_workflows (the default)",
    async () => (await import("./generate.js")).generate,
    [
      "workflow-codegen",
      "workflow-codegen generate --dir backend/convex",
      "workflow-codegen --watch         beside `npx convex dev`",
      "workflow-codegen --json          for tools: { ok, problems, written, removed, tombstones, workflows, nodes }",
    ],
  )
    .option("--watch", "stay open, and compile again after every save")
    .option("--force", "write over generated files that were edited by hand or are damaged")
    .option(
      "--against <ref or plan>",
      "the baseline, whose runs in flight keep what they need: a git ref or a plan (default: the main branch)",
    )
    .option("--json", "print problems and what was written as JSON, to stdout");

  command(
    "dev",
    "compile after every save, and run `convex dev` beside it",
    async () => (await import("./dev.js")).dev,
    ["workflow-codegen dev", "workflow-codegen dev -- --tail-logs always"],
    "Ctrl-C ends both. If `convex dev` ends, this command ends with the same exit code.",
  ).argument("[convex-options...]", "options of `convex dev`, after --");

  command(
    "init",
    "make an app ready for workflows: the component, a first workflow, the scripts",
    async () => (await import("./init.js")).init,
    ["workflow-codegen init", "workflow-codegen init --dir backend/convex"],
    "It keeps what is there, so you can run it again at any time.",
  );

  command(
    "check",
    "report what is out of date, and what happens to runs in flight; write nothing",
    async () => (await import("./generate.js")).check,
    [
      "workflow-codegen check",
      "workflow-codegen check --against production         a branch or tag with what is deployed",
      "workflow-codegen check --drop                       when no older run is in flight any more",
    ],
    "Exits with 1 on errors, when generate would write or remove something, and on changes that stop runs in flight;" +
      "\nwith 2 in CI or a shallow clone if there is nothing to compare with." +
      "\nRemoved nodes and workflows leave tombstones: small functions for the runs that are at them. Only --drop removes these.",
  )
    .option(
      "--against <ref or plan>",
      "the baseline: a git ref or a plan (default: the main branch)",
    )
    .option("--json", "print the findings as JSON, to stdout")
    .option(
      "--drop",
      "remove tombstones, if generated files are up to date; with --against, keep those that runs of that plan may need",
    );

  command(
    "graph",
    "draw the workflows: their nodes, how these run, and the children they start",
    async () => (await import("./derived.js")).graph,
    [
      "workflow-codegen graph > workflows.mmd",
      "workflow-codegen graph ingestDocument --format dot | dot -Tsvg -o ingest.svg",
    ],
  )
    .argument("[workflow]", "only this one (default: all)")
    .addOption(
      new Option("--format <format>", "the format of the drawing")
        .choices(["mermaid", "dot", "json"])
        .default("mermaid"),
    )
    .option("--out <file>", "write it to a file instead of stdout (-)");

  command(
    "explain",
    "show what each node and run costs, reads and takes at worst, or what an error code means",
    async () => (await import("./derived.js")).explain,
    [
      "workflow-codegen explain ingestDocument",
      "workflow-codegen explain --json",
      "workflow-codegen explain SW1203          the page of an error code",
    ],
    "Root executions are functions that the scheduler, a client or an action calls. The figures hold when nothing fails.",
  )
    .argument("[topic]", "a workflow (default: all), or an error code")
    .option("--json", "print it as JSON");

  command(
    "run",
    "compile, then run a workflow in this process: no account, no network",
    async () => (await import("./run.js")).runCommand,
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
      'events to send, as JSON or @path: [{ "name", "value", "at": "10m" }]; without "at", as soon as a run waits for it',
    )
    .option("--skip-time", "skip backoff, timeouts and sleeps", false)
    .option(...seedOption)
    .option("--random <number>", "make Math.random return the same numbers each time", wholeNumber)
    .option("--quiet", "print the output and errors, but no progress", false)
    .addOption(
      new Option("--studio", "show the run in the studio, until you close it").conflicts(headless),
    );

  const deployKeyNote = "If CONVEX_DEPLOY_KEY is set, it is used to call the deployment.";
  const studio = command(
    "studio",
    "open a local page that shows workflows and runs live, and steers them",
    async () => (await import("./studio.js")).studio,
    [
      "workflow-codegen studio --seed seed.json",
      "workflow-codegen studio --url https://happy-otter-123.convex.cloud",
    ],
    "It compiles at every save. The embedded back end keeps runs and data until you close the studio." +
      `\nIt listens on this machine only, and its address has a new token each time.\n${deployKeyNote}`,
  );
  const mcp = command(
    "mcp",
    "let a coding agent see and steer workflows and runs, over the Model Context Protocol",
    async () => (await import("./studio.js")).mcp,
    ["workflow-codegen mcp"],
    `It speaks over stdin and stdout. Give this command to your agent.\n${deployKeyNote}`,
  );
  for (const shown of [studio, mcp])
    shown
      .option(...seedOption)
      .option(
        "--url <address>",
        "show the runs of this deployment instead of the embedded back end",
      )
      .option(
        "--module <name>",
        "the deployment's module that calls defineStudioApi (default: studio)",
      );
  studio
    .addOption(new Option("--local", "show the embedded back end (the default)").conflicts("url"))
    .option(
      "--against <ref or plan>",
      "what is deployed, to show what a deploy would stop: a git ref or a plan",
    )
    .option("--port <number>", "the port to listen on (default: any that is free)", port);
  return program;
}

function examples(lines: readonly string[], note?: string): string {
  const before = note === undefined ? "" : `\n${note}\n`;
  return `${before}\nExamples:\n${lines.map((line) => `  $ ${line}`).join("\n")}`;
}

type Files = NonNullable<RunOptions["file"]>;

function collectFile(given: string, before: Files = []): Files {
  const [, field, path] = /^([^=]+)=@?(.+)$/.exec(given) ?? [];
  const isName = (name: string) => name !== "" && name !== "__proto__";
  if (field?.split(".").every(isName) === true && path !== undefined)
    return [...before, { field, path }];
  throw new InvalidArgumentError("It must be field=@path, such as storageId=@report.txt.");
}

function port(given: string): number {
  const number = wholeNumber(given);
  if (number >= 0 && number <= 65_535) return number;
  throw new InvalidArgumentError("A port is at most 65535, and not negative.");
}

function wholeNumber(given: string): number {
  // An empty text is 0 to JavaScript.
  const number = given.trim() === "" ? NaN : Number(given);
  if (Number.isSafeInteger(number)) return number;
  throw new InvalidArgumentError("It must be a whole number.");
}
