import pc from "picocolors";
import type { StageExplained, WorkflowExplained } from "../explain/explain.js";

/** One workflow as a table: a line for every stage, and the sum of a run. */
export function explainText(workflow: WorkflowExplained, color: boolean): string {
  const colors = pc.createColors(color);
  const rows = workflow.nodes.flatMap(({ stages }) => stages.map(row));
  const head = ["stage", "runs", "root executions", "reads", "attempts", "at worst"];
  const [title = "", ...lines] = table([head, ...rows]);
  return [
    `${colors.bold(workflow.name)} ${colors.dim(`(${workflow.file})`)}`,
    `  ${colors.dim(title)}`,
    ...lines.map((line) => `  ${line}`),
    `  A run: ${workflow.rootExecutions} root executions${perChild(workflow)}; ${worst(workflow)}.`,
  ].join("\n");
}

function row(stage: StageExplained): string[] {
  return [
    stage.name,
    stage.reference === undefined ? stage.kind : `${stage.kind} ${stage.reference}`,
    String(stage.rootExecutions),
    reads(stage.reads),
    stage.attempts === undefined ? "" : String(stage.attempts ?? "computed"),
    stage.worstCaseMs === null ? "open" : time(stage.worstCaseMs),
  ];
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
