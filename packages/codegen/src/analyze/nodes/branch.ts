import { Node, SyntaxKind } from "../../ts-morph.js";
import { nearest } from "../../diagnostics/nearest.js";
import type { BodyPlan } from "../../plan/schema.js";
import { bodyPlan } from "../bodies.js";
import type { DefinitionFile } from "../definition-file.js";
import { functionOf, unwrap, type FunctionNode } from "../functions.js";
import { scopeReads } from "../handlers.js";
import { knownValue } from "../known.js";
import type { Option } from "../option.js";
import { policyOf, readOptions, type Options } from "../options.js";
import { stagePlan } from "../stages.js";
import {
  nodePlan,
  ofNode,
  readName,
  type Named,
  type NodeContext,
  type NodeKind,
} from "./node-kind.js";
import { reportMissing, reportUnknown } from "./option-rules.js";

const needed = { on: "({ input }) => …", cases: "{ key: (b) => b.step(…) }" };

/** `.branch(name, { on, cases })`: one stage, and those of its cases. */
export const branch: NodeKind = {
  analyze(call, context) {
    const { file, scope: visible } = context;
    const named = readName(call, context);
    if (named === undefined) return undefined;
    const { label, at } = named;
    const options = readOptions(call.call.getArguments()[1], call.kindNode, label, file);
    if (options === undefined) return nodePlan(call, named, context, { stages: [] });
    reportUnknown(options, Object.keys(needed), label, file);
    reportMissing(options, needed, named, file);
    const on = options.get("on");
    const reads = on && scopeReads(on.value, `the \`on\` of ${label}`, file);
    const cases = readCases(options, named, context);
    const fn = on && functionOf(on.value, file);
    if (fn !== undefined && cases !== undefined) checkKeys(fn, cases, label, file);
    const policy = policyOf(options, file);
    const stage =
      reads && stagePlan({ ...ofNode(named), kind: "branch", reads, visible, policy, at }, file);
    return nodePlan(call, named, context, {
      stages: [stage],
      bodies: [...(cases?.values() ?? [])].map((each) => readCase(each, named, context)),
      options,
      source: on === undefined ? [] : [on.value],
    });
  },
};

/** The cases by their keys; undefined when they cannot be read, which has been reported. */
function readCases(all: Options, of: Named, { file }: NodeContext): Options | undefined {
  const option = all.get("cases");
  const cases = option && readOptions(option.value, option.nameNode, `${of.label}, cases`, file);
  if (option !== undefined && cases?.size === 0) {
    file.report("noCases", option.nameNode, `${of.label} has no cases`, {
      hint: "write one for every key that `on` gives: `cases: { key: (b) => b.step(…) }`",
    });
  }
  return cases;
}

function readCase(option: Option, of: Named, context: NodeContext): BodyPlan {
  const { name: key } = option;
  const inside = {
    key,
    path: `${of.path}.${key}`,
    code: [...of.code, "cases", key],
    scope: context.scope,
    label: `case ${JSON.stringify(key)} of ${of.label}`,
    end: `the end of case ${JSON.stringify(key)}`,
  };
  return bodyPlan(option, inside, context);
}

/** Where all that `on` can give is written out, its keys and the cases must be the same. */
function checkKeys(on: FunctionNode, cases: Options, label: string, file: DefinitionFile): void {
  const keys = keysOf(on, file);
  if (keys === undefined || cases.size === 0) return;
  const list = (names: Iterable<string>) =>
    [...names].map((each) => JSON.stringify(each)).join(", ");
  // A name that is misspelt on one side is told once.
  const meant = new Set<string>();
  for (const [key, node] of keys) {
    if (cases.has(key)) continue;
    const unused = [...cases.keys()].filter((name) => !keys.has(name) && !meant.has(name));
    const near = nearest(key, unused);
    if (near !== undefined) meant.add(near);
    const message = `the \`on\` of ${label} gives ${JSON.stringify(key)}, for which there is no case`;
    const instead =
      near === undefined
        ? `its cases are ${list(cases.keys())}: add one`
        : `did you mean ${JSON.stringify(near)}? else add a case`;
    const hint = `${instead}, \`(b) => b\` if nothing is to be done`;
    file.report("missingCase", node, message, { hint });
  }
  for (const { name, nameNode } of cases.values()) {
    if (keys.has(name) || meant.has(name)) continue;
    const message = `${label} has the case ${JSON.stringify(name)}, which its \`on\` never gives`;
    const hint = `\`on\` gives ${list(keys.keys())}: remove the case, or let \`on\` give it`;
    file.report("impossibleCase", nameNode, message, { hint });
  }
}

/** The keys that a function can give, each with where it is written; undefined when one of them is computed. */
function keysOf(fn: FunctionNode, file: DefinitionFile): Map<string, Node> | undefined {
  const body = fn.getBody();
  const returned = Node.isBlock(body)
    ? body
        .getDescendantsOfKind(SyntaxKind.ReturnStatement)
        .filter((each) => each.getFirstAncestor(isFunction) === fn)
        .map((each) => each.getExpression())
    : [body];
  const keys = new Map<string, Node>();
  const isKnown =
    returned.length > 0 &&
    returned.every((each) => each !== undefined && addKeys(each, keys, file));
  return isKnown ? keys : undefined;
}

const isFunction = (node: Node): boolean =>
  Node.isFunctionLikeDeclaration(node) || Node.isFunctionExpression(node);

/** Whether all that an expression can give are strings that can be seen. */
function addKeys(expression: Node, keys: Map<string, Node>, file: DefinitionFile): boolean {
  const node = unwrap(expression);
  if (Node.isConditionalExpression(node))
    return addKeys(node.getWhenTrue(), keys, file) && addKeys(node.getWhenFalse(), keys, file);
  const key = knownValue(node, file);
  if (typeof key !== "string") return false;
  keys.set(key, node);
  return true;
}
