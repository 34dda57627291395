import { quote } from "../../diagnostics/diagnostic.js";
import { nearest } from "../../diagnostics/nearest.js";
import type { BodyPlan } from "../../plan/schema.js";
import type { DefinitionFile } from "../parser.js";
import { scopeReads } from "../handlers.js";
import { constantText } from "../constants.js";
import { type Options, optionsIn, policyOf } from "../options.js";
import { bodyPlan } from "./loop.js";
import { type Named, type NodeContext, type NodeKind, ofNode, stagePlan } from "./node-kind.js";
import type { AsExpression } from "ts-morph";
import { Node, SyntaxKind } from "../../ts-morph.js";
import { type FunctionNode, functionOf, stringOf, type Option, wrappedIn } from "../functions.js";
import { knownValue } from "../known.js";

const needed = { on: "({ input }) => …", cases: "{ key: (b) => b.step(…) }" };

/** `.branch(name, { on, cases })`: one stage, and those of its cases. */
export const branch: NodeKind = {
  known: Object.keys(needed),
  needed,
  parts({ named, options, context }) {
    const { file, scope: visible } = context;
    const { label, at } = named;
    const on = options.get("on");
    const isThere = on !== undefined || options.rest !== undefined;
    const reads = isThere ? scopeReads(on, file) : undefined;
    const cases = readCases(options, named, context);
    const keys = on && keysOf(on.value, file);
    if (keys !== undefined && cases !== undefined) checkKeys(keys, cases, label, file);
    const own = { kind: "branch", visible, policy: policyOf(options, file), at } as const;
    return {
      stages: [reads && stagePlan({ ...ofNode(named), ...own, reads }, file)],
      bodies: [...(cases?.values() ?? [])].map((each) => readCase(each, named, context)),
      source: on === undefined ? [] : [on.value],
    };
  },
};

const writeEachCase =
  "write each case as `key: (b) => b.step(…)`; a computed key is that of a const, a const object or an enum of the app";

/** The cases by their keys; undefined when they cannot be read, which has been reported. */
function readCases(all: Options, of: Named, { file, modules }: NodeContext): Options | undefined {
  const option = all.get("cases");
  const keyOf = (key: Node) => constantText(key, file, modules);
  const cases = option && optionsIn(option.value, file, keyOf);
  const [unread] = cases?.rest ?? [];
  if (unread !== undefined) {
    const message = `the cases of ${of.label} hold something that is only known when it runs`;
    return file.report("unreadableOptions", unread, message, writeEachCase);
  }
  if (option !== undefined && cases?.size === 0) {
    const message = `${of.label} has no cases`;
    const hint = "write one for every key that `on` gives: `cases: { key: (b) => b.step(…) }`";
    file.report("noCases", option.nameNode, message, hint);
  }
  return cases && inOrder(cases);
}

/** As the run time has them: an object gives keys that are whole numbers first. */
function inOrder(cases: Options): Options {
  const keys = Object.keys(Object.fromEntries(cases));
  return new Map(keys.flatMap((key) => [...cases].filter(([each]) => each === key)));
}

function readCase(option: Option, of: Named, context: NodeContext): BodyPlan {
  const { name: key } = option;
  const inside = {
    key,
    path: `${of.path}.${key}`,
    code: [...of.code, "cases", key],
    scope: context.scope,
    label: `case ${quote(key)} of ${of.label}`,
    end: `the end of case ${quote(key)}`,
  };
  return bodyPlan(option, inside, context);
}

/** Where all that `on` can give is written out, its keys and the cases must be the same. */
function checkKeys(keys: Keys, cases: Options, label: string, file: DefinitionFile): void {
  if (cases.size === 0) return;
  const list = (names: Iterable<string>) => [...names].map((each) => quote(each)).join(", ");
  // A name that is misspelt on one side is told once.
  const meant = new Set<string>();
  for (const [key, node] of keys) {
    if (cases.has(key)) continue;
    const unused = [...cases.keys()].filter((name) => !keys.has(name) && !meant.has(name));
    const near = nearest(key, unused);
    if (near !== undefined) meant.add(near);
    const message = `the \`on\` of ${label} gives ${quote(key)}, for which there is no case`;
    const others = `its cases are ${list(cases.keys())}: add one`;
    const instead = near === undefined ? others : `did you mean ${quote(near)}? else add a case`;
    const hint = `${instead}, \`(b) => b\` if nothing is to be done`;
    file.report("missingCase", node, message, hint);
  }
  for (const { name, nameNode } of cases.values()) {
    if (keys.has(name) || meant.has(name)) continue;
    const message = `${label} has the case ${quote(name)}, which its \`on\` never gives`;
    const type = [...keys.keys(), name].map((each) => quote(each)).join(" | ");
    const hint = `\`on\` gives ${list(keys.keys())}: remove the case, let \`on\` give it, or, while runs are in it, only its type: \`(scope): ${type} => …\``;
    file.report("impossibleCase", nameNode, message, hint);
  }
}

export type Keys = Map<string, Node>;

/** All keys that `on` can give, by its returns and written type; undefined if some are unseen. */
export function keysOf(on: Node, file: DefinitionFile): Keys | undefined {
  const fn = functionOf(on, file);
  if (fn === undefined || isTyped(on, file)) return undefined;
  const keys: Keys = new Map();
  const type = fn.getReturnTypeNode();
  if (type !== undefined && !addTypeKeys(type, keys)) return undefined;
  const returned = returnedBy(fn);
  const isKnown =
    returned.length > 0 && returned.every((each) => each && addKeys(each, keys, file));
  return isKnown || type !== undefined ? keys : undefined;
}

/** Whether an expression, or its const, has a written type: it may say more than the expression. */
function isTyped(value: Node, { source }: DefinitionFile): boolean {
  const isTypedAt = (node: Node | undefined): boolean => {
    if (Node.isAsExpression(node) && !isConst(node)) return true;
    const inner = wrappedIn(node);
    if (inner !== undefined) return isTypedAt(inner);
    if (!Node.isIdentifier(node)) return false;
    const named = source.getVariableDeclaration(node.getText());
    return named?.getTypeNode() !== undefined || isTypedAt(named?.getInitializer());
  };
  return isTypedAt(value);
}

const isConst = (node: AsExpression): boolean => node.getTypeNode()?.getText() === "const";

function returnedBy(fn: FunctionNode): (Node | undefined)[] {
  const body = fn.getBody();
  if (!Node.isBlock(body)) return [body];
  return body
    .getDescendantsOfKind(SyntaxKind.ReturnStatement)
    .filter((each) => each.getFirstAncestor(isFunction) === fn)
    .map((each) => each.getExpression());
}

const isFunction = (node: Node): boolean =>
  Node.isFunctionLikeDeclaration(node) || Node.isFunctionExpression(node);

/** Whether all that an expression can give are strings that can be seen. */
function addKeys(node: Node, keys: Keys, file: DefinitionFile): boolean {
  if (Node.isAsExpression(node) && !isConst(node))
    return addTypeKeys(node.getTypeNodeOrThrow(), keys);
  const inner = wrappedIn(node);
  if (inner !== undefined) return addKeys(inner, keys, file);
  if (Node.isConditionalExpression(node))
    return addKeys(node.getWhenTrue(), keys, file) && addKeys(node.getWhenFalse(), keys, file);
  const key = knownValue(node, file);
  if (typeof key !== "string" || isTyped(node, file)) return false;
  keys.set(key, node);
  return true;
}

function addTypeKeys(type: Node, keys: Keys): boolean {
  if (Node.isParenthesizedTypeNode(type)) return addTypeKeys(type.getTypeNode(), keys);
  if (Node.isUnionTypeNode(type))
    return type.getTypeNodes().every((each) => addTypeKeys(each, keys));
  const literal = Node.isLiteralTypeNode(type) ? type.getLiteral() : undefined;
  const key = stringOf(literal);
  if (key === undefined || literal === undefined) return false;
  keys.set(key, literal);
  return true;
}
