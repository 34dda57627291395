/** What `init` does to one file. */
export type Edit =
  | { readonly kind: "create"; readonly file: string; readonly text: string; readonly what: string }
  | { readonly kind: "change"; readonly file: string; readonly text: string; readonly what: string }
  | { readonly kind: "keep"; readonly file: string; readonly what: string }
  /** It cannot be told how to change it without breaking something; the user does it. */
  | { readonly kind: "refuse"; readonly file: string; readonly what: string };

/** Text put into a text at a position. */
export interface Insertion {
  readonly at: number;
  readonly text: string;
  /** Where the text ends that it takes the place of. Default: it takes the place of none. */
  readonly until?: number;
}

/**
 * All of them at once: positions are those of the text as it was, and of several at one position the first comes first. The line ends of the text
 * are kept.
 */
export function insert(text: string, insertions: readonly Insertion[]): string {
  const lineEnd = text.includes("\r\n") ? "\r\n" : "\n";
  let result = text;
  const lastFirst = insertions.toReversed().sort((a, b) => b.at - a.at);
  for (const { at, text: added, until = at } of lastFirst)
    result = result.slice(0, at) + added.replaceAll("\n", lineEnd) + result.slice(until);
  return result;
}
