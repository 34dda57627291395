/*
 * No array of more than 8,192 elements may cross a function boundary. The outputs of more children than that do so in pages, and are one
 * list again where a handler sees them.
 */

const PAGES = "~pages";
const PAGE = 8_000;

/** The outputs of children as they cross function boundaries. */
export function packed(outputs: readonly unknown[]): unknown {
  if (outputs.length <= PAGE) return outputs;
  const pages: unknown[] = [];
  for (let at = 0; at < outputs.length; at += PAGE) pages.push(outputs.slice(at, at + PAGE));
  return { [PAGES]: pages };
}

/** The same as a handler sees them. */
export function unpacked(outputs: unknown): unknown {
  if (typeof outputs !== "object" || outputs === null || !(PAGES in outputs)) return outputs;
  return (outputs[PAGES] as unknown[][]).flat();
}

/** A scope as a handler sees it. */
export function unpackedScope(scope: unknown): unknown {
  if (typeof scope !== "object" || scope === null || !("children" in scope)) return scope;
  return { ...scope, children: unpacked(scope.children) };
}
