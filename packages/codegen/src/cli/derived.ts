import { readFileSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { resolve } from "node:path";
import { compile } from "../compile.js";
import { codes } from "../diagnostics/codes.js";
import { printableJson } from "../diagnostics/printable.js";
import { nearest, suggestion } from "../diagnostics/nearest.js";
import { explain as explained } from "../explain/explain.js";
import type { NodeExplained, StageExplained, WorkflowExplained } from "../explain/explain.js";
import { dot, type Graph, graphOf, mermaid } from "../graph/graph.js";
import { durationMs } from "../plan/constants.js";
import type { ProjectPlan } from "../plan/schema.js";
import { calledAs, stageKind } from "../plan/stage-kinds.js";
import { duration } from "./counts.js";
import { displayPath, functionsFolder, UsageError } from "./functions-folder.js";
import { printDiagnostics } from "./problems.js";
import { noWorkflow } from "./report.js";
import { printTo, type Terminal } from "./terminal.js";

/** The plan of an app; prints its errors. @throws UsageError if it lacks `workflow`, or a folder */
async function compiledPlan(
  dir: string | undefined,
  workflow: string | undefined,
  terminal: Terminal,
): Promise<ProjectPlan | undefined> {
  const functionsDir = functionsFolder(terminal.cwd, dir);
  const folder = displayPath(terminal.cwd, functionsDir);
  const { plan, diagnostics, ok } = await compile({ functionsDir, drop: true });
  const errors = diagnostics.filter(({ severity }) => severity === "error");
  printDiagnostics(errors, folder, terminal);
  if (!ok) return undefined;
  if (plan.workflows.length === 0) printTo(terminal).err(noWorkflow(folder));
  const names = plan.workflows.map(({ name }) => name);
  if (workflow === undefined || names.includes(workflow)) return plan;
  throw new UsageError(
    `There is no workflow ${JSON.stringify(workflow)}. ${suggestion(workflow, names, "workflows")}`,
  );
}

const formats = {
  mermaid,
  dot,
  json: (graph: Graph) => `${printableJson(graph)}\n`,
};

export async function graph(
  workflow: string | undefined,
  options: { readonly dir?: string; readonly format: keyof typeof formats; readonly out?: string },
  terminal: Terminal,
): Promise<0 | 1> {
  // It would be the path without what ends it.
  if (options.out !== undefined && /^$|[/\\]$/.test(options.out))
    throw new UsageError(`--out ${JSON.stringify(options.out)} is no file: give the path of one.`);
  const plan = await compiledPlan(options.dir, workflow, terminal);
  if (plan === undefined) return 1;
  const text = formats[options.format](graphOf(plan, workflow));
  if (options.out === undefined || options.out === "-") {
    terminal.stdout.write(text);
    return 0;
  }
  await writeFile(resolve(terminal.cwd, options.out), text).catch((error: Error) => {
    const isGone = "code" in error && error.code === "ENOENT";
    const why = isGone ? "its folder does not exist" : error.message;
    throw new UsageError(`${options.out} cannot be written: ${why}`);
  });
  printTo(terminal).out(`wrote ${options.out}`);
  return 0;
}

export async function explain(
  topic: string | undefined,
  { dir, json = false }: { readonly dir?: string; readonly json?: boolean },
  terminal: Terminal,
): Promise<0 | 1> {
  const { out, asJson, colors } = printTo(terminal);
  if (topic !== undefined && /^(sw|ts)\d+$/i.test(topic)) {
    const code = topic.toUpperCase();
    const page = pageOf(code);
    if (json) asJson({ code, page });
    else out(page);
    return 0;
  }
  const plan = await compiledPlan(dir, topic, terminal);
  if (plan === undefined) return 1;
  const figures = explained(plan, topic);
  if (json) asJson(figures);
  else if (figures.length > 0)
    out(figures.map((workflow) => textOf(workflow, colors)).join("\n\n"));
  return 0;
}

/** What TypeScript reports of a workflow that is its own child. */
const typeOfItself = "TS7022";

function pageOf(code: string): string {
  const known: string[] = [...Object.values(codes).map((each) => each.code), typeOfItself];
  if (!known.includes(code)) {
    const near = nearest(code, known);
    const hint = near === undefined ? "A code looks like SW1203." : `Did you mean ${near}?`;
    throw new UsageError(`No problem has the code ${code}. ${hint}`);
  }
  // The same path from the sources and from the build: both are two folders deep.
  return readFileSync(new URL(`../../errors/${code}.md`, import.meta.url), "utf8").trimEnd();
}

function textOf(workflow: WorkflowExplained, colors: ReturnType<typeof printTo>["colors"]): string {
  const head = "stage,runs,root executions,transactions,reads,attempts,at worst".split(",");
  const [title = "", ...lines] = table([head, ...workflow.nodes.flatMap((node) => rowsOf(node))]);
  return [
    `${colors.bold(workflow.name)} ${colors.dim(`(${workflow.file})`)}`,
    `  ${colors.dim(title)}`,
    ...lines.map((line) => `  ${line}`),
    `  A run: ${workflow.isAtMost ? "at most " : ""}${workflow.rootExecutions} root executions, ${workflow.transactions} of them transactions${perChild(workflow)}; ${worst(workflow)}${waits(workflow.nodes) ? ", without the time that it waits for limits" : ""}.`,
    ...sumOf(workflow.nodes),
    ...(workflow.one === undefined
      ? []
      : [`  One run of each key goes on at a time; another one meanwhile: ${workflow.one}.`]),
    ...(workflow.priority === undefined ? [] : [goesEarlier(workflow.priority)]),
    ...(workflow.isFair ? ["  Its actions share the pool's slots by key."] : []),
    ...(workflow.collect === undefined ? [] : [collects(workflow.collect)]),
  ].join("\n");
}

const goesEarlier = (by: string | number): string =>
  `  Its actions wait as if they had come earlier: by ${timeText(by)}.`;

/** A time as text; one that only the code knows is `computed`. */
function timeText(given: string | number): string {
  if (typeof given === "number") return duration(given);
  return given === "computed" ? "a time that is computed" : given;
}

/** What it costs to collect: rows of starts, and looks whether they are quiet. */
function collects({ keep, quiet, atMost, size }: NonNullable<WorkflowExplained["collect"]>) {
  const most = atMost === undefined ? "10 times as long" : timeText(atMost);
  const full = size === undefined ? "" : `, or when there are ${size}`;
  return `  Starts with one key are collected (${keep}): a run begins after ${timeText(quiet)} without one, at most ${most} after the first${full}. It adds 2 root executions, and 1 each time that starts have come meanwhile.`;
}

/** Says how the sum is made of the rows, as far as that is not plain. */
function sumOf(nodes: readonly NodeExplained[]): string[] {
  const all = allOf(nodes);
  const has = (is: (stage: StageExplained) => boolean) => all.some((each) => each.stages.some(is));
  const isInside = (bodies: string) => has(({ kind }) => stageKind(kind).bodies === bodies);
  const told = [
    isInside("iteration") && "A row in a loop counts for each iteration.",
    isInside("cases") && "Of several cases, only the most expensive counts.",
    has(({ isCompensation }) => isCompensation === true) && "What undoes a step does not count.",
    all.some(({ bodies }) => bodies) && "The time of a node includes what is inside it.",
  ].filter((each) => each !== false);
  return told.length === 0 ? [] : [`  That is the sum of the rows. ${told.join(" ")}`];
}

const allOf = (nodes: readonly NodeExplained[]): NodeExplained[] =>
  nodes.flatMap((node) => [node, ...allOf((node.bodies ?? []).flatMap((body) => body.nodes))]);

/**
 * A node's own stages, then those of the nodes inside it.
 * @param times how often it runs, if a loop around it says so: ` × 20`
 */
function rowsOf(node: NodeExplained, times = ""): string[][] {
  const { maxIterations } = node;
  const inside = maxIterations ? `${times} × ${maxIterations}` : times;
  const own = node.stages.map((stage) => [
    stage.name,
    runs(stage, node),
    `${stage.rootExecutions}${times}`,
    `${stage.transactions}${times}`,
    stage.reads.includes("*") ? "everything" : stage.reads.join(", ") || "nothing",
    stage.attempts === undefined ? "" : String(stage.attempts ?? "computed"),
    stage.worstCaseMs === Infinity ? "open" : `${duration(stage.worstCaseMs)}${times}`,
  ]);
  const within = (node.bodies ?? []).flatMap(({ nodes }) => nodes);
  return [...own, ...within.flatMap((each) => rowsOf(each, inside))];
}

function runs(stage: StageExplained, node: NodeExplained): string {
  const { kind, reference, isCompensation, limits = [], waitAtMostMs } = stage;
  if (node.maxIterations !== undefined)
    return node.maxIterations === null ? kind : `${kind}, at most ${node.maxIterations} iterations`;
  const which = whichRun[stageKind(kind).bodies ?? ""];
  if (which !== undefined) return `${calledAs(kind, node)}, ${which(node.bodies?.length ?? 0)}`;
  const within = limits.map((limit) => `, ${mostOf(limit)}`).join("");
  const wait = waitAtMostMs === undefined ? "" : `, waits at most ${duration(waitAtMostMs)}`;
  const what = `${reference === undefined ? kind : `${kind} ${reference}`}${within}${wait}`;
  return isCompensation === true ? `${what}, to undo it` : what;
}

function mostOf({
  name,
  total,
  perKey,
  rate,
  maxWaiting,
  unit,
}: NonNullable<StageExplained["limits"]>[number]): string {
  const most = [
    ...(total === undefined ? [] : [`${total} at once`]),
    ...(perKey === undefined ? [] : [`${perKey} at once for each key`]),
    ...(rate === undefined ? [] : [rateOf(rate, perKey !== undefined, unit)]),
    ...(maxWaiting === undefined ? [] : [`at most ${maxWaiting} waiting`]),
  ];
  return `within limit ${name}${most.length === 0 ? "" : ` (${most.join(", ")})`}`;
}

type Rate = NonNullable<NonNullable<StageExplained["limits"]>[number]["rate"]>;

/** Each start writes the bucket of its rate: with more, those that wait for a slot conflict there. */
const MOST_A_SECOND = 100;

function rateOf({ limit, per, burst }: Rate, hasKeys: boolean, unit?: string): string {
  const aSecond = (limit * 1_000) / (durationMs(per) ?? Infinity);
  // How many starts it is, of a unit, depends on what they use.
  const isFast = unit === undefined && aSecond > MOST_A_SECOND;
  const some = isFast ? `, about ${MOST_A_SECOND} a second while actions also wait for slots` : "";
  const time = typeof per === "number" ? `${per}ms` : per;
  const atOnce = burst === undefined ? "" : `, ${burst} of them at once`;
  return `${limit}${unit === undefined ? "" : ` ${unit}`} per ${time}${hasKeys ? " for each key" : ""}${atOnce}${some}`;
}

/** Which of the bodies inside it a run goes through. */
const whichRun: Readonly<Record<string, (bodies: number) => string>> = {
  cases: (bodies) => `one of ${bodies}`,
  branches: (bodies) => `all of ${bodies}`,
  rivals: (bodies) => `the first of ${bodies}`,
  item: () => "for each item",
};

function perChild({ perChild: children }: WorkflowExplained): string {
  const texts = children.map(({ node, workflow = "item", rootExecutions }) =>
    rootExecutions === undefined
      ? `, and those of each child of ${node}`
      : `, and ${rootExecutions} for each ${workflow} of ${node}`,
  );
  return texts.join("");
}

function worst({ worstCaseMs, openEnded }: WorkflowExplained): string {
  if (worstCaseMs < Infinity) return `at worst ${duration(worstCaseMs)}`;
  return `no worst case: no fixed limit for ${openEnded.join(" and ")}`;
}

const waits = (nodes: readonly NodeExplained[]): boolean =>
  allOf(nodes).some(({ stages }) => stages.some(({ limits }) => limits !== undefined));

function table(rows: readonly (readonly string[])[]): string[] {
  const widths = (rows[0] ?? []).map((_, column) =>
    Math.max(...rows.map((cells) => cells[column]?.length ?? 0)),
  );
  return rows.map((cells) => {
    const padded = cells.map((cell, column) => cell.padEnd(widths[column] ?? 0));
    return padded.join("  ").trimEnd();
  });
}
