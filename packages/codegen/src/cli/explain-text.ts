import pc from "picocolors";
import type { NodeExplained, StageExplained, WorkflowExplained } from "../explain/explain.js";

/** One workflow as a table: a line for every stage, and the sum of a run. */
export function explainText(workflow: WorkflowExplained, color: boolean): string {
  const colors = pc.createColors(color);
  const rows = workflow.nodes.flatMap(rowsOf);
  const head = [
    "stage",
    "runs",
    "root executions",
    "transactions",
    "reads",
    "attempts",
    "at worst",
  ];
  const [title = "", ...lines] = table([head, ...rows]);
  return [
    `${colors.bold(workflow.name)} ${colors.dim(`(${workflow.file})`)}`,
    `  ${colors.dim(title)}`,
    ...lines.map((line) => `  ${line}`),
    `  A run: ${workflow.isAtMost ? "at most " : ""}${workflow.rootExecutions} root executions, ${workflow.transactions} of them transactions${perChild(workflow)}; ${worst(workflow)}.`,
  ].join("\n");
}

/** A node's own stages, then those of the nodes inside it. */
function rowsOf(node: NodeExplained): string[][] {
  const inside = (node.bodies ?? []).flatMap(({ nodes }) => nodes.flatMap(rowsOf));
  return [...node.stages.map((stage) => row(stage, node)), ...inside];
}

function row(stage: StageExplained, node: NodeExplained): string[] {
  return [
    stage.name,
    runs(stage, node),
    String(stage.rootExecutions),
    String(stage.transactions),
    reads(stage.reads),
    stage.attempts === undefined ? "" : String(stage.attempts ?? "computed"),
    stage.worstCaseMs === null ? "open" : time(stage.worstCaseMs),
  ];
}

function runs({ kind, reference, isCompensation }: StageExplained, node: NodeExplained): string {
  if (node.maxPasses !== undefined)
    return node.maxPasses === null ? "loop" : `loop, at most ${node.maxPasses} passes`;
  if (node.bodies !== undefined) return `${kind}, one of ${node.bodies.length}`;
  const what = reference === undefined ? kind : `${kind} ${reference}`;
  return isCompensation === true ? `${what}, to undo it` : what;
}

function reads(names: readonly string[]): string {
  if (names.includes("*")) return "everything";
  return names.length === 0 ? "nothing" : names.join(", ");
}

function perChild({ perChild: children }: WorkflowExplained): string {
  return children
    .map(({ node, workflow, rootExecutions }) =>
      rootExecutions === undefined
        ? `, and those of each child of ${node}`
        : `, and ${rootExecutions} for each ${workflow} of ${node}`,
    )
    .join("");
}

function worst({ worstCaseMs, openEnded }: WorkflowExplained): string {
  if (worstCaseMs !== null) return `at worst ${time(worstCaseMs)}`;
  return `no worst case: no literal limit on ${openEnded.join(" and ")}`;
}

const units = [
  ["d", 86_400_000],
  ["h", 3_600_000],
  ["m", 60_000],
  ["s", 1_000],
] as const;

/** The two greatest units that are not zero: `1 h 30 m`. */
function time(ms: number): string {
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  let rest = Math.round(ms / 1_000) * 1_000;
  const parts: string[] = [];
  for (const [unit, length] of units) {
    const count = Math.floor(rest / length);
    if (count > 0 && parts.length < 2) parts.push(`${count} ${unit}`);
    rest -= count * length;
  }
  return parts.join(" ");
}

/** Columns of equal width, two spaces apart. */
function table(rows: readonly (readonly string[])[]): string[] {
  const widths = (rows[0] ?? []).map((_, column) =>
    Math.max(...rows.map((cells) => cells[column]?.length ?? 0)),
  );
  return rows.map((cells) =>
    cells
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join("  ")
      .trimEnd(),
  );
}
