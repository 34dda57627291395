import { Writable } from "node:stream";
import { convexToJson, type Value } from "convex/values";
import { compile, type CompileResult, writeGenerated } from "../compile.js";
import { type RunOutcome, runWorkflow } from "../dev-server/index.js";
import type { StepError, StoredFile } from "../dev-server/index.js";
import type { ProjectPlan } from "../plan/schema.js";
import { type Colors, colorsIf } from "../diagnostics/colors.js";
import { type Diagnostic, isError } from "../diagnostics/diagnostic.js";
import { printable, printableJson } from "../diagnostics/printable.js";
import { bytes, duration, plural } from "./counts.js";
import { displayPath, functionsFolder } from "./functions-folder.js";
import { ProgressLines, usesColor } from "./progress.js";
import { oneLine } from "./run-words.js";
import { printDiagnostics, restIsWritten } from "./problems.js";
import { processTerminal, type Terminal } from "./terminal.js";
import {
  loadEnvironment,
  notSent,
  reachedFrom,
  readEvents,
  readSeed,
  readValue,
} from "./run-input.js";

export interface RunOptions {
  readonly input: string;
  readonly file?: readonly StoredFile[];
  readonly dir?: string;
  readonly skipTime: boolean;
  readonly events?: string;
  readonly seed?: string;
  readonly random?: number;
  readonly quiet: boolean;
  readonly studio?: true;
}

export async function runCommand(workflow: string, options: RunOptions, terminal: Terminal) {
  if (options.studio === true) {
    const { studio } = await import("./studio.js");
    const { dir, seed, file: files } = options;
    const input = await readValue(options.input, "--input");
    return await studio({ dir, seed, first: { workflow, input, files } }, terminal);
  }
  // So that errors tell places in the app's own sources, not in their bundles.
  process.setSourceMapsEnabled(true);
  // By the way of an ordinary exit, which removes the bundles.
  const signals = { SIGINT: 130, SIGTERM: 143, SIGHUP: 129 };
  for (const [signal, code] of Object.entries(signals))
    process.once(signal, () => process.exit(code));
  // Until the run has completed, also if this ends because nobody reads the progress any more.
  process.exitCode = 1;
  try {
    process.exitCode = await run(workflow, options);
  } catch (error) {
    process.stderr.write(printable(`workflow-codegen run ${workflow}: ${messageOf(error)}\n`));
    process.exitCode = 1;
  }
  // Timers of the run, such as its watchdogs, would keep the process alive for half an hour.
  process.exit();
}

/** The output goes to stdout, all else to stderr, so that the output can be piped. */
async function run(workflow: string, options: RunOptions): Promise<number> {
  const cwd = process.cwd();
  const functionsDir = functionsFolder(cwd, options.dir);
  const folder = displayPath(cwd, functionsDir);
  const color = usesColor(process.stderr);
  const compiled = await compile({ functionsDir });
  const { sound, output: generated } = compiled;
  const isSound = sound?.plan.workflows.some(({ name }) => name === workflow) === true;
  const whole = compiled.ok ? compiled : isSound ? sound : undefined;
  const problems = problemsOf(workflow, compiled, whole !== undefined);
  const rest = whole && restIsWritten;
  printDiagnostics(problems, folder, { ...processTerminal(), color }, rest);
  if (whole === undefined) return 1;
  await writeGenerated(functionsDir, whole.files, { folders: [generated] });
  if (!compiled.ok)
    process.stderr.write("Other workflows have errors: npx workflow-codegen tells them.\n");

  const input = await readValue(options.input, "--input");
  const events = await readEvents(options.events ?? "[]", workflow, compiled.plan);
  const seed = options.seed === undefined ? undefined : await readSeed(options.seed);
  loadEnvironment(cwd);
  // What the app's functions write is no output of the run, whichever way they write it.
  const print = process.stdout.write.bind(process.stdout);
  const nowhere = new Writable({ write: (_chunk, _encoding, done) => done() });
  const elsewhere = options.quiet ? nowhere : process.stderr;
  process.stdout.write = elsewhere.write.bind(elsewhere);
  const tell = (line: string) => void process.stderr.write(`${printable(line)}\n`);
  const progress = options.quiet ? undefined : new ProgressLines(tell);
  const outcome = await runWorkflow({
    functionsDir,
    component: compiled.plan.config?.values.component,
    output: generated,
    workflow,
    input,
    files: options.file,
    seed,
    skipTime: options.skipTime,
    events,
    random: options.random,
    onEvent: (event) => {
      progress?.tell(event);
      // Nobody can send it any more, so it is told to everybody.
      if (event.type === "waiting" && progress === undefined) tell(event.text);
    },
  });
  if (!options.quiet || outcome.state !== "completed")
    process.stderr.write(
      printable(report(outcome, workflow, placesIn(compiled.plan, folder), color), color),
    );
  for (const event of outcome.unsent) tell(notSent(event, workflow, compiled.plan));
  if (outcome.onEndError !== undefined)
    tell(`The onEnd of ${workflow} failed: ${oneLine(outcome.onEndError)}`);
  if (outcome.state !== "completed") return 1;
  if (outcome.isSensitive === true) tell("The output is sensitive: not shown");
  const output = convexToJson((outcome.output ?? null) as Value);
  process.exitCode = 0;
  // The process ends right after this, and a pipe may take its time.
  const text = `${printableJson(output)}\n`;
  await new Promise<void>((resolve) => print(text, () => resolve()));
  return 0;
}

/**
 * Returns what is wrong with a workflow, those it may start, and what all share. If it cannot run
 * for another reason, that is among all problems.
 */
export function problemsOf(
  workflow: string,
  { plan: { workflows }, diagnostics }: CompileResult,
  canRun: boolean,
): readonly Diagnostic[] {
  const reached = reachedFrom(workflow, workflows);
  const needed = workflows.filter(({ name }) => reached.has(name)).map(({ file }) => file);
  const others = new Set(
    workflows.map(({ file }) => file).filter((file) => !needed.includes(file)),
  );
  const own = diagnostics.filter(({ place }) => !others.has(place.file));
  return canRun || own.some(isError) ? own : diagnostics;
}

/** Where a node stands in its definition, as `file:line:column`; undefined for an unknown one. */
type PlaceOf = (workflow: string, node: string) => string | undefined;

function placesIn(plan: ProjectPlan, folder: string): PlaceOf {
  return (workflow, stage) => {
    const definition = plan.workflows.find(({ name }) => name === workflow);
    // A stage is a node, or a part of one: `chapters.finalize`.
    const node = definition?.nodes.find(({ name }) => name === stage.split(".")[0]);
    const place = node?.place ?? definition?.place;
    return place && `${folder}/${place.file}:${place.line}:${place.column}`;
  };
}

/** What a run came to and what it took, for people. */
export function report(
  { state, durationMs, totals, error }: RunOutcome,
  workflow: string,
  placeOf: PlaceOf,
  color: boolean,
): string {
  const colors = colorsIf(color);
  const paint = state === "completed" ? colors.green : colors.red;
  const executions = totals.executions.toLocaleString("en-US");
  const scheduled = totals.functionsScheduled.toLocaleString("en-US");
  const lines = [
    `${workflow} ${paint(state)} in ${duration(durationMs)}`,
    `  ${colors.dim(`${plural(totals.rootExecutions, "function execution")}, ${executions} with nested ones; ${scheduled} scheduled`)}`,
    `  ${colors.dim(`read ${plural(totals.documentsRead, "document")}, ${bytes(totals.bytesRead)}; wrote ${plural(totals.documentsWritten, "document")}, ${bytes(totals.bytesWritten)}`)}`,
    ...(error === undefined ? [] : errorLines(error, placeOf, colors)),
  ];
  return `${lines.join("\n")}\n`;
}

/** From the run's error down to what caused it, each with the place of its node. */
function* errorLines(error: StepError, placeOf: PlaceOf, colors: Colors): Generator<string> {
  const place = placeOf(error.workflow, error.node);
  const which = error.key === undefined ? "" : ` [${error.key}]`;
  const attempt = error.attempt > 1 ? `, attempt ${error.attempt}` : "";
  const at = place === undefined ? "" : `${colors.cyan(place)} `;
  const node = error.node === "" ? "" : `"${error.node}" of `;
  const where = oneLine(`${node}${error.workflow}${which}${attempt}`);
  yield `${at}${colors.red(error.kind)} in ${where}: ${oneLine(error.message)}`;
  if (error.data !== undefined)
    yield `  data: ${JSON.stringify(convexToJson(error.data as Value))}`;
  if (error.cause !== undefined) yield* errorLines(error.cause, placeOf, colors);
}

/** Returns what went wrong, with its causes, and where in the app's own code; never a stack trace. */
export function messageOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const place = placeInApp(error);
  const message = place === undefined ? error.message : `${error.message}\n  at ${place}`;
  const cause = error.cause === undefined ? "" : messageOf(error.cause);
  // Some messages say already what their cause does.
  return error.message.includes(cause) ? message : `${message}\n${cause}`;
}

/** The first place of a stack, if it is in the app's own code. */
function placeInApp({ stack = "" }: Error): string | undefined {
  const [, file, place] = /^ +at (?:.*\()?(?:file:\/\/)?(\/.*?)(:\d+:\d+)\)?$/m.exec(stack) ?? [];
  if (file === undefined) return undefined;
  const shown = displayPath(process.cwd(), file);
  return shown.startsWith("/") || shown.includes("node_modules") ? undefined : `${shown}${place}`;
}
