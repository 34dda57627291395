import { nearest } from "@stepwise/workflow/rules";

export { nearest };

/** The nearest known name, or all of them. @param what the names are of: `workflows` */
export function suggestion(name: string, known: readonly string[], what: string): string {
  const near = nearest(name, known);
  if (near !== undefined) return `Did you mean ${JSON.stringify(near)}?`;
  return known.length === 0 ? `There are no ${what} at all.` : `There are: ${known.join(", ")}.`;
}
