/** One thing that was measured, with what it may be at most. */
export interface Row {
  readonly title: string;
  /** What was measured, in words: times of both sides, where there are two. */
  readonly measured: string;
  /** The figure that has a limit. */
  readonly value: number;
  readonly limit: number;
  readonly unit: "times" | "ms" | "MB";
}

export const holds = ({ value, limit }: Row): boolean => value <= limit;

/** A Markdown table, laid out as Prettier would. */
export function table(rows: readonly Row[]): string {
  const cells = [
    ["", "measured", "figure", "limit", ""],
    ...rows.map((row) => [
      row.title,
      row.measured,
      figure(row.value, row),
      figure(row.limit, row),
      holds(row) ? "holds" : "does not hold",
    ]),
  ];
  const widths = cells[0]!.map((_, column) =>
    Math.max(3, ...cells.map((line) => line[column]!.length)),
  );
  const line = (texts: readonly string[]) =>
    `| ${texts.map((text, column) => text.padEnd(widths[column]!)).join(" | ")} |`;
  const [head, ...body] = cells.map(line);
  return [head, line(widths.map((width) => "-".repeat(width))), ...body].join("\n");
}

function figure(value: number, { unit }: Row): string {
  return unit === "times" ? `${value.toFixed(2)} times` : `${Math.round(value)} ${unit}`;
}
