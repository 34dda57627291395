/** How much was compiled, and how long it took: `2 workflows, 5 nodes, in 310 ms.` */
export function countsText(
  { workflows, nodes }: { readonly workflows: number; readonly nodes: number },
  elapsedMs: number,
): string {
  return `${plural(workflows, "workflow")}, ${plural(nodes, "node")}, in ${timeText(elapsedMs)}.`;
}

export function plural(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? "" : "s"}`;
}

function timeText(ms: number): string {
  return ms < 1000 ? `${Math.max(1, Math.round(ms))} ms` : `${(ms / 1000).toFixed(1)} s`;
}
