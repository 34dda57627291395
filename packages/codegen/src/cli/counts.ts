/** Returns how much was compiled, and how long it took: `2 workflows, 5 nodes, in 310 ms.` */
export function countsText(
  { workflows, nodes }: { readonly workflows: number; readonly nodes: number },
  elapsedMs: number,
): string {
  return `${plural(workflows, "workflow")}, ${plural(nodes, "node")}, in ${duration(Math.max(1, elapsedMs))}.`;
}

export function plural(count: number, one: string): string {
  // `toLocaleString` loads what it knows of languages, which takes as long as reading 500 files.
  const grouped = String(count).replace(/\B(?=(\d{3})+$)/g, ",");
  return `${grouped} ${count === 1 ? one : `${one}s`}`;
}

/** A duration in its two largest units, as `7 h 55 m` or `10 m`. A minute never has 60 s. */
export function duration(ms: number): string {
  if (Math.round(ms) < 1000) return `${Math.round(ms)} ms`;
  const tenths = Math.round(ms / 100);
  if (tenths < 600) return `${tenths / 10} s`;
  const seconds = Math.round(ms / 1000);
  if (seconds < 3600) return inUnits(seconds, 60, "m", "s");
  const minutes = Math.round(ms / 60_000);
  return minutes < 48 * 60 ? inUnits(minutes, 60, "h", "m") : inUnits(minutes / 60, 24, "d", "h");
}

function inUnits(count: number, per: number, large: string, small: string): string {
  const rest = Math.round(count) % per;
  return `${Math.floor(Math.round(count) / per)} ${large}${rest === 0 ? "" : ` ${rest} ${small}`}`;
}

export function bytes(count: number): string {
  if (count < 1024) return `${count} B`;
  if (count < 1024 * 1024) return `${Math.round(count / 1024)} KB`;
  return `${(count / 1024 / 1024).toFixed(1)} MB`;
}
