import { type Node, ts, type TypeScript } from "../../typescript.js";
import type { NodeCall } from "../definitions.js";
import { allBelow, identifiersIn } from "../descendants.js";
import { isAsync, isConst, isDeclaring, unwrap } from "../functions.js";
import { parameterAt } from "../handlers.js";
import { type FoundFunction, functionFrom } from "../made.js";
import type { DefinitionFile } from "../parser.js";

/** The nodes that each name for a builder stands for. */
type Builders = ReadonlyMap<string, readonly NodeCall[]>;

/** How many functions a builder is handed on through: one may call itself. */
const maxLinks = 20;

/** The calls of `(b) => b.step(…).step(…)`; undefined, and reported, if they are not all seen. */
export function chainOf(body: Node, label: string, file: DefinitionFile): NodeCall[] | undefined {
  const found = functionFrom(body, file);
  return found === undefined ? report(body, label, file) : new Chain(label).of(found, body, 0, []);
}

class Chain {
  constructor(
    private readonly label: string,
    private readonly links = 0,
  ) {}

  /** Returns what a function adds to the nodes that are in the builder it is given. */
  of(
    { fn, file }: FoundFunction,
    at: Node,
    index: number,
    given: readonly NodeCall[],
  ): NodeCall[] | undefined {
    const builder = parameterAt(fn, index);
    if (isAsync(fn)) return report(at, this.label, file, isPromised);
    if (!builder || builder === "hidden" || !ts.isIdentifier(builder))
      return report(at, this.label, file);
    const builders = new Map([[builder.text, given]]);
    const { body } = fn;
    if (body === undefined || !ts.isBlock(body)) return body && this.#calls(body, file, builders);
    if (!returnsSomething(body)) return report(at, this.label, file, isLost);
    for (const statement of body.statements) {
      if (ts.isReturnStatement(statement) && statement.expression !== undefined)
        return this.#calls(statement.expression, file, builders);
      if (isDeclaring(statement) || isApart(statement, builders)) continue;
      if (!ts.isVariableStatement(statement)) return report(statement, this.label, file);
      for (const held of statement.declarationList.declarations) {
        const { name, initializer } = held;
        if (initializer === undefined || !isFrom(initializer, builders)) continue;
        if (!ts.isIdentifier(name) || !isConst(held)) return report(held, this.label, file);
        const calls = this.#calls(initializer, file, builders);
        if (calls === undefined) return undefined;
        builders.set(name.text, calls);
      }
    }
    return report(at, this.label, file);
  }

  #calls(chain: Node, file: DefinitionFile, builders: Builders): NodeCall[] | undefined {
    const calls: NodeCall[] = [];
    let node = unwrap(chain);
    while (ts.isCallExpression(node)) {
      const { expression: callee } = node;
      if (!ts.isPropertyAccessExpression(callee)) break;
      const before = unwrap(callee.expression);
      // A member of something else is a helper: `lib.helper(b)`.
      if (ts.isIdentifier(before) && !builders.has(before.text)) break;
      if (!ts.isIdentifier(before) && !ts.isCallExpression(before)) break;
      const { name: kindNode } = callee;
      const isPlain = !callee.questionDotToken && !node.questionDotToken;
      if (!isPlain || !ts.isIdentifier(kindNode)) return report(node, this.label, file);
      calls.push({ kind: kindNode.text, kindNode, call: node, file });
      node = before;
    }
    calls.reverse();
    const before = ts.isIdentifier(node)
      ? builders.get(node.text)
      : ts.isCallExpression(node) && this.#handedOn(node, file, builders);
    if (before === false) return report(node, this.label, file);
    return before === undefined && ts.isIdentifier(node)
      ? report(node, this.label, file)
      : before && [...before, ...calls];
  }

  /** `helper(b)`, also with nodes that are there before: `helper(b.step(…))`. */
  #handedOn(call: TypeScript.CallExpression, file: DefinitionFile, builders: Builders) {
    const index = call.arguments.findIndex((each) => isFrom(each, builders));
    const argument = call.arguments[index];
    const isOpen = call.questionDotToken === undefined && this.links < maxLinks;
    const found = isOpen && argument !== undefined && functionFrom(call.expression, file);
    if (!found) return report(call, this.label, file);
    const given = this.#calls(argument, file, builders);
    return given && new Chain(this.label, this.links + 1).of(found, call, index, given);
  }
}

/** Says whether an expression is a builder, or calls what has one. */
function isFrom(expression: Node, builders: Builders): boolean {
  const node = unwrap(expression);
  if (ts.isIdentifier(node)) return builders.has(node.text);
  return ts.isCallExpression(node) && identifiersIn(node).some((id) => builders.has(id.text));
}

/** Says whether a statement is an expression that no builder is in, such as a call of a logger. */
const isApart = (statement: TypeScript.Statement, builders: Builders): boolean =>
  ts.isExpressionStatement(statement) &&
  !identifiersIn(statement).some(({ text }) => builders.has(text));

/** Says whether there is a `return` with a value in a function, whatever it depends on. */
const returnsSomething = (body: Node): boolean =>
  allBelow(body).some(
    (node) =>
      ts.isReturnStatement(node) &&
      node.expression !== undefined &&
      ts.findAncestor(node, ts.isFunctionLike) === body.parent,
  );

const isUnread = {
  what: "is not written out as one chain of plain calls",
  hint: "write `(b) => b.step(…).step(…)`, or hand the builder to a function that does: `(b) => helper(b)`",
};
const isPromised = {
  what: "is an async function, which cannot be",
  hint: "write it without `async`: what has to be waited for is for a step, as in `(b) => b.step(…)`",
};
const isLost = {
  what: "returns nothing",
  hint: "return the nodes, as in `(b) => b.step(…)` or `(b) => { return b.step(…); }`",
};

function report(at: Node, label: string, file: DefinitionFile, { what, hint } = isUnread) {
  return file.report("computedChain", at, `${label} ${what}`, hint);
}
