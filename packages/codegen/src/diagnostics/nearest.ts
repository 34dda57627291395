import { nearest } from "@stepwise/workflow/rules";

export { nearest };

/** A hint with the nearest known name, or else other words. @param marked as it is shown */
export function meant(
  name: string,
  known: Iterable<string>,
  otherwise: string,
  marked: (near: string) => string = (near) => `\`${near}\``,
): string {
  const near = nearest(name, known);
  return near === undefined ? otherwise : `did you mean ${marked(near)}?`;
}

/** The nearest known name, or all of them. @param what the names are of: `workflows` */
export function suggestion(name: string, known: readonly string[], what: string): string {
  const near = nearest(name, known);
  if (near !== undefined) return `Did you mean ${JSON.stringify(near)}?`;
  return known.length === 0 ? `There are no ${what} at all.` : `There are: ${known.join(", ")}.`;
}
