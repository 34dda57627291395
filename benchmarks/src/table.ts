import type { Cost } from "./cost.js";

/** One line: a scene in both engines. */
export interface Row {
  readonly title: string;
  /** How many steps, or works. */
  readonly n: number;
  readonly ours: Cost;
  readonly peer: Cost;
}

interface Column {
  readonly title: string;
  readonly of: (cost: Cost) => number | undefined;
  readonly digits: number;
}

const COLUMNS: readonly Column[] = [
  { title: "root", of: (cost) => cost.rootExecutions, digits: 2 },
  { title: "to its end", of: (cost) => cost.rootToEnd, digits: 2 },
  { title: "all", of: (cost) => cost.executions, digits: 1 },
  { title: "read", of: (cost) => cost.documentsRead, digits: 1 },
  { title: "written", of: (cost) => cost.documentsWritten, digits: 1 },
  { title: "KB read", of: (cost) => cost.kbRead, digits: 2 },
  { title: "wait, ms", of: (cost) => cost.waitMs, digits: 0 },
];

/** A Markdown table, laid out as Prettier would. In each cell ours stands before the peer. */
export function table(rows: readonly Row[]): string {
  const columns = COLUMNS.filter(({ of }) => rows.some(({ ours }) => of(ours) !== undefined));
  const cells = [
    ["", "N", ...columns.map(({ title }) => title)],
    ...rows.map((row) => [row.title, String(row.n), ...columns.map((column) => both(column, row))]),
  ];
  const widths = cells[0]!.map((_, i) => Math.max(3, ...cells.map((line) => line[i]!.length)));
  const line = (texts: string[]) => `| ${texts.join(" | ")} |`;
  const [head, ...body] = cells.map((texts) =>
    line(texts.map((text, i) => (i === 0 ? text.padEnd(widths[i]!) : text.padStart(widths[i]!)))),
  );
  const rule = line(widths.map((n, i) => (i === 0 ? "-".repeat(n) : `${"-".repeat(n - 1)}:`)));
  return [head, rule, ...body].join("\n");
}

function both({ of, digits }: Column, { ours, peer }: Row): string {
  // Adding 0 turns -0 into 0.
  const text = (value: number | undefined) =>
    value === undefined ? "" : (value + 0).toFixed(digits);
  const [one, other] = [text(of(ours)), text(of(peer))];
  return one === "" && other === "" ? "" : `${one} / ${other}`;
}
