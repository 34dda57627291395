import { type Node, ts, type TypeScript } from "../typescript.js";
import { once } from "../plan/once.js";
import { identifiersIn } from "./descendants.js";
import { isCalled, isMember, unwrap, wrapping } from "./functions.js";
import { isAssigned, isHidden, isReference } from "./scoping.js";
import { valuesIn } from "./values-used.js";

/* What changes a value after it was declared: `fields.b = …`, `Object.assign(fields, more)`. */

type Source = TypeScript.SourceFile;

/**
 * Returns the statements at the top of a file that may change what a name stands for there, or a
 * member of one.
 */
export function changersOf(of: Node, { source }: { readonly source: Source }): ReadonlySet<Node> {
  if (ts.isPropertyAccessExpression(of)) return changersOf(of.expression, { source });
  return (ts.isIdentifier(of) && changersIn(source).get(of.text)) || none;
}

const none: ReadonlySet<Node> = new Set();

const changersIn = once((source: Source): ReadonlyMap<string, ReadonlySet<Node>> => {
  const found = new Map<string, Set<Node>>();
  for (const id of identifiersIn(source)) {
    if (!isChanged(id) && !isGivenToChange(id, source)) continue;
    const statement = ts.findAncestor(id, ({ parent }) => parent === source);
    if (statement === undefined || !isReference(id) || isHidden(id)) continue;
    for (const name of namesOf(id.text, source))
      found.set(name, (found.get(name) ?? new Set()).add(statement));
  }
  return found;
});

/** A name, and those of which it is only another one: `const fields = shared`. */
function namesOf(name: string, source: Source, before: readonly string[] = []): readonly string[] {
  if (before.includes(name)) return before;
  const value = valueIn(name, source);
  const names = [...before, name];
  return value && ts.isIdentifier(value) ? namesOf(value.text, source, names) : names;
}

function valueIn(name: string, source: Source): Node | undefined {
  const value = valuesIn(source).get(name);
  return value && unwrap(value);
}

/** Says whether a value, or something in it, is given another value where it stands. */
function isChanged(value: Node): boolean {
  if (isAssigned(value)) return true;
  const node = wrapping(value);
  const { parent } = node;
  if (isMember(parent) && parent.expression === node) return isChanged(parent);
  if (isCalled(node))
    return ts.isPropertyAccessExpression(value) && changesList.test(value.name.text);
  return ts.isCallExpression(parent) && parent.arguments[0] === node && changesFirst(parent);
}

/** Methods of a list that change it. */
const changesList = /^(push|pop|shift|unshift|splice|sort|reverse|fill|copyWithin)$/;

/** Says whether it is a function of JavaScript that changes its first argument. */
const changesFirst = ({ expression }: TypeScript.CallExpression): boolean =>
  /^(Object\.(assign|define|setP)|Reflect\.(set|define|delete))/.test(expression.getText());

/** `addDates(fields);` can only be for a change. A schema cannot be changed: it may be noted. */
function isGivenToChange(id: TypeScript.Identifier, source: Source): boolean {
  const { parent } = wrapping(id);
  if (!ts.isCallExpression(parent) || !ts.isIdentifier(parent.expression)) return false;
  const value = isCalled(id) ? undefined : valueIn(id.text, source);
  const isOpen =
    value && (ts.isObjectLiteralExpression(value) || ts.isArrayLiteralExpression(value));
  return isOpen === true && ts.isExpressionStatement(parent.parent);
}
