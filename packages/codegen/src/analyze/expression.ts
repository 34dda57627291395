import { Node, ts } from "../ts-morph.js";
import type { Expression } from "../plan/schema.js";
import { eachBelow, identifiersIn } from "./descendants.js";
import { isDeclaredBetween, isReference } from "./scoping.js";

/** A piece of source as it is written, cut at the names that are imported. */
export function verbatim(
  node: Node,
  imported: ReadonlySet<string>,
): { parts: Expression["parts"][number][] } {
  const parts: Expression["parts"][number][] = [];
  const start = node.getStart();
  const end = node.getEnd();
  const text = node.getSourceFile().getFullText();
  const dedent = dedenter(node);
  let from = start;
  const names = Node.isIdentifier(node)
    ? [node]
    : identifiersIn(node, (name) => imported.has(name)).filter(
        (id) => isReference(id) && !isDeclaredBetween(id, node.getParentOrThrow()),
      );
  for (const id of names) {
    const name = id.getText();
    const at = id.getStart();
    const shorthand = Node.isShorthandPropertyAssignment(id.getParent());
    parts.push(dedent(text.slice(from, at), from), { name, shorthand });
    // An escaped name is longer in the source.
    from = id.getEnd();
  }
  parts.push(dedent(text.slice(from, end), from));
  return { parts };
}

/** Takes the definition's margin off all lines but the first, and not inside strings. */
function dedenter(node: Node): (part: string, from: number) => string {
  const text = node.getSourceFile().getFullText();
  const lineStart = text.lastIndexOf("\n", node.getStart()) + 1;
  const width = text.slice(lineStart).search(/[^ \t]/);
  if (width <= 0) return (part) => part;
  const values = valuesOverLines(node);
  const margin = new RegExp(`\\n[ \\t]{1,${width}}`, "g");
  return (part, from) =>
    part.replace(margin, (found, at: number) => {
      const place = from + at;
      const isInside = values.some((value) => value.start < place && place < value.end);
      return isInside ? found : "\n";
    });
}

/** Where the strings and templates are that go over several lines. */
function valuesOverLines(node: Node): { readonly start: number; readonly end: number }[] {
  const source = node.getSourceFile().compilerNode;
  const found: { start: number; end: number }[] = [];
  eachBelow(node.getParentOrThrow().compilerNode, (part) => {
    if (ts.isStringLiteralLike(part) || ts.isTemplateExpression(part)) {
      const start = part.getStart(source);
      if (source.text.slice(start, part.end).includes("\n")) found.push({ start, end: part.end });
    }
  });
  return found;
}
