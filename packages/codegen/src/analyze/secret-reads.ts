import { quote } from "../diagnostics/diagnostic.js";
import { type Node, ts, type TypeScript } from "../typescript.js";
import { functionOf, isFunctionNode, keyText, stringOf, unwrap, wrapping } from "./functions.js";
import { bindingOf } from "./handlers.js";
import { constantText } from "./known.js";
import { fileOf, type Options, optionsIn } from "./options.js";
import type { DefinitionFile } from "./parser.js";
import { referencesIn } from "./scoping.js";

/* Tags and keys are shown, so they may not read sensitive values: [S182], [S213], [S220]. */

/** What calls its function with each item of the list that it is a method of. */
const ofItems = /^(map|flatMap|filter|find|findLast|findIndex|some|every|forEach)$/;

/** Told of a path of the scope, such as `input.card`, wherever a function reads it. */
type Seen = (path: string, at: Node) => void;

/**
 * Follows what a parameter or a variable is bound to.
 * @param path of its value; empty of the scope. @param within the function or block that declares
 * it.
 */
export function follow(
  bound: TypeScript.BindingName,
  path: string,
  within: Node,
  seen: Seen,
): void {
  if (ts.isIdentifier(bound)) {
    for (const id of referencesIn(within, (text) => text === bound.text, within))
      followUse(id, path, seen);
    return;
  }
  for (const element of bound.elements) {
    if (!ts.isBindingElement(element) || element.dotDotDotToken !== undefined) continue;
    const { name, propertyName: key = name } = element;
    // A path goes through lists.
    const inside = ts.isArrayBindingPattern(bound) ? path : below(path, keyText(key));
    if (inside === undefined) continue;
    seen(inside, key);
    follow(name, inside, within, seen);
  }
}

function followUse(node: Node, path: string, seen: Seen): void {
  seen(path, node);
  const use = wrapping(node);
  const { parent } = use;
  if (ts.isPropertyAccessExpression(parent)) {
    const { text } = parent.name;
    const call = wrapping(parent).parent;
    const [first] = ts.isCallExpression(call) && ofItems.test(text) ? call.arguments : [];
    const [item] = first !== undefined && isFunctionNode(first) ? first.parameters : [];
    if (first !== undefined && item !== undefined) follow(item.name, path, first, seen);
    else followUse(parent, below(path, text), seen);
  } else if (ts.isElementAccessExpression(parent) && parent.expression === use) {
    const { argumentExpression: key } = parent;
    const inside = ts.isNumericLiteral(key) ? path : below(path, stringOf(key));
    if (inside !== undefined) followUse(parent, inside, seen);
  } else if (ts.isVariableDeclaration(parent) && parent.initializer === use)
    follow(parent.name, path, ts.findAncestor(parent, ts.isBlock) ?? parent, seen);
}

const below = <Name extends string | undefined>(path: string, name: Name): Name | string =>
  name === undefined || path === "" ? name : `${path}.${name}`;

/** The paths that the `sensitive` of a workflow names, if that can be seen. */
export function sensitivePaths(options: Options, definition: DefinitionFile): readonly string[] {
  const option = options.get("sensitive");
  if (option === undefined) return [];
  const value = unwrap(option.value);
  if (value.kind === ts.SyntaxKind.TrueKeyword) return ["input"];
  if (!ts.isArrayLiteralExpression(value)) return [];
  const file = fileOf(option, definition);
  return value.elements.flatMap((each) => constantText(unwrap(each), file) ?? []);
}

/** Reports what the tags and the keys of a workflow read that is sensitive. */
export function reportSecretReads(
  options: Options,
  workflow: string,
  definition: DefinitionFile,
): void {
  const sensitive = sensitivePaths(options, definition);
  if (sensitive.length === 0) return;
  const named = `workflow ${quote(workflow)}`;
  const report = (
    holder: Options,
    name: string,
    what: string,
    paths = sensitive,
    of = definition,
  ) => {
    const option = holder.get(name);
    const file = fileOf(option, of);
    const fn = option && functionOf(option.value, file);
    const binding = fn && bindingOf(fn, "ofScope", "scope");
    if (fn === undefined || binding === undefined || binding === "hidden") return;
    const found = new Map<string, Node>();
    follow(binding, "", fn, (path, at) => {
      if (paths.includes(path) && !found.has(path)) found.set(path, at);
    });
    for (const [path, at] of found) reportRead(what, path, at, file);
  };
  report(options, "tags", `the tags of ${named} read`);
  for (const name of ["one", "collect"]) {
    const option = options.get(name);
    const file = fileOf(option, definition);
    const inside = option && optionsIn(option.value, file);
    if (inside === undefined) continue;
    const keep = stringOf(inside.get("keep")?.value);
    // Its key is made of one of the items.
    const paths = keep === "all" ? sensitive.map(pathInItem) : sensitive;
    report(inside, "key", `the key of the ${name} of ${named} reads`, paths, file);
  }
}

const pathInItem = (path: string): string => path.replace(/^input\.items(?=\.|$)/, "input");

export function reportRead(what: string, path: string, at: Node, file: DefinitionFile): void {
  const message = `${what} ${path}, which is sensitive`;
  const hint = "tags and keys are shown to everybody who sees runs: leave it out";
  file.report("sensitiveRead", at, message, hint);
}
