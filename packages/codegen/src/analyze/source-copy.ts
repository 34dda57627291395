import type { Identifier, SyntaxKind as Operator } from "ts-morph";
import { Node, SyntaxKind, VariableDeclarationKind } from "../ts-morph.js";
import type { ImportedName } from "../plan/expression.js";
import { jsName } from "../plan/js-name.js";
import { moduleFromOutput } from "../plan/paths.js";
import type { SourceCopy } from "../plan/schema.js";
import type { DefinitionFile } from "./definition-file.js";
import { identifiersIn } from "./descendants.js";
import { verbatim } from "./expression.js";
import { unwrap } from "./functions.js";
import { isDeclaredInFile } from "./declared-names.js";
import { isDeclaredBetween, isReference } from "./scoping.js";

type Parts = SourceCopy["parts"];

/**
 * The source of an expression, so that it can be written out again in another file when its own has it no more. What it names is imported
 * there as it is here; functions of its file, and consts that are only values, are brought along. `open` is the first name for which
 * that cannot be done: what it stands for is made when the file is loaded, or may be changed.
 */
export function copyOf(
  expression: Node,
  file: DefinitionFile,
): SourceCopy | { readonly open: string } {
  const copy = new Copy(file);
  copy.take(expression);
  return copy.whole(expression);
}

class Copy {
  readonly #file: DefinitionFile;
  readonly #imports = new Map<string, ImportedName>();
  /** The declarations that come along, by name. */
  readonly #brought = new Map<string, Node>();
  #open: string | undefined;

  constructor(file: DefinitionFile) {
    this.#file = file;
  }

  /** Takes what an expression or a function names. */
  take(node: Node): void {
    const elsewhere = /\b(?:import|require)\(\s*["'`]\.{1,2}\/[^)]*\)/.exec(node.getText());
    if (elsewhere !== null) this.#open ??= elsewhere[0];
    for (const id of freeNames(node)) this.#name(id);
  }

  whole(expression: Node): SourceCopy | { readonly open: string } {
    if (this.#open !== undefined) return { open: this.#open };
    const names = new Set(this.#imports.keys());
    const own = verbatim(expression, names).parts;
    const imports = [...this.#imports.values()].sort((a, b) => (a.local < b.local ? -1 : 1));
    const brought = [...this.#brought.values()].sort((a, b) => a.getPos() - b.getPos());
    if (brought.length === 0) return { parts: own, imports };
    const body = brought.flatMap((node) => [...declarationOf(node, names), "\n"]);
    const parts = joined(["\n", ...body, "return ", ...own, ";"]);
    return { parts: joined(["(() => {", ...indented(parts), "\n})()"]), imports };
  }

  #name(id: Identifier): void {
    const name = id.getText();
    // Of a function around the expression, which is not there any more.
    if (isDeclaredBetween(id, this.#file.source)) this.#open ??= name;
    else if (this.#file.imports.has(name)) this.#import(name);
    else if (isDeclaredInFile(name, this.#file)) this.#bring(name);
  }

  #import(local: string): void {
    const { imported = local, module = "", typeOnly = false } = this.#file.imports.get(local) ?? {};
    const from = moduleFromOutput(this.#file.file, module);
    if (imported !== "*" && !jsName.test(imported)) this.#open ??= local;
    else if (!typeOnly) this.#imports.set(local, { local, imported, module: from, typeOnly });
  }

  #bring(name: string): void {
    if (this.#brought.has(name)) return;
    const declaration = still(name, this.#file);
    if (declaration === undefined) {
      this.#open ??= name;
      return;
    }
    this.#brought.set(name, declaration);
    this.take(declaration);
  }
}

/** The names that a piece of source takes from outside itself, as values: a type needs not be there. */
function freeNames(node: Node): Identifier[] {
  const all = Node.isIdentifier(node) ? [node] : identifiersIn(node);
  const boundary = node.getParentOrThrow();
  return all.filter((id) => isReference(id) && !isInType(id) && !isDeclaredBetween(id, boundary));
}

function isInType(id: Identifier): boolean {
  for (let node: Node | undefined = id.getParent(); node !== undefined; node = node.getParent()) {
    // What a class extends is an expression, though the syntax tree calls it a type.
    if (Node.isTypeNode(node)) return !Node.isExpressionWithTypeArguments(node);
    if (Node.isExpression(node) || Node.isStatement(node)) return false;
  }
  return false;
}

/** The declaration at the top of the file that a second one does the same as: of a function, or of a const that is only a value. */
function still(name: string, { source }: DefinitionFile): Node | undefined {
  const declared = source.getFunction(name);
  if (declared !== undefined) return declared.getImplementation() ?? declared;
  const variable = source.getVariableDeclaration(name);
  const isConst =
    variable?.getVariableStatement()?.getDeclarationKind() === VariableDeclarationKind.Const;
  const value = variable?.getInitializer();
  const isPlain = isConst && Node.isIdentifier(variable?.getNameNode());
  return isPlain && value !== undefined && isStill(value) ? variable : undefined;
}

/** Whether to evaluate an expression once more calls nothing and changes nothing. */
function isStill(expression: Node): boolean {
  const node = unwrap(expression);
  if (Node.isIdentifier(node) || Node.isLiteralLike(node)) return true;
  if (Node.isTrueLiteral(node) || Node.isFalseLiteral(node) || Node.isNullLiteral(node))
    return true;
  if (Node.isArrowFunction(node) || Node.isFunctionExpression(node)) return true;
  if (Node.isPropertyAccessExpression(node)) return isStill(node.getExpression());
  if (Node.isArrayLiteralExpression(node)) return node.getElements().every(isStill);
  if (Node.isSpreadElement(node)) return isStill(node.getExpression());
  if (Node.isConditionalExpression(node))
    return [node.getCondition(), node.getWhenTrue(), node.getWhenFalse()].every(isStill);
  if (Node.isTemplateExpression(node))
    return node.getTemplateSpans().every((span) => isStill(span.getExpression()));
  if (Node.isPrefixUnaryExpression(node))
    return !isCounting(node.getOperatorToken()) && isStill(node.getOperand());
  if (Node.isBinaryExpression(node)) {
    const operator = node.getOperatorToken().getKind();
    return !isAssigning(operator) && [node.getLeft(), node.getRight()].every(isStill);
  }
  return Node.isObjectLiteralExpression(node) && node.getProperties().every(isStillProperty);
}

const isCounting = (operator: Operator): boolean =>
  operator === SyntaxKind.PlusPlusToken || operator === SyntaxKind.MinusMinusToken;

const isAssigning = (operator: Operator): boolean =>
  operator >= SyntaxKind.FirstAssignment && operator <= SyntaxKind.LastAssignment;

function isStillProperty(property: Node): boolean {
  if (Node.isShorthandPropertyAssignment(property)) return true;
  if (Node.isSpreadAssignment(property)) return isStill(property.getExpression());
  if (!Node.isPropertyAssignment(property) && !Node.isMethodDeclaration(property)) return false;
  if (Node.isComputedPropertyName(property.getNameNode())) return false;
  return Node.isMethodDeclaration(property) || isStill(property.getInitializerOrThrow());
}

/** A declaration as it stands at the top of a function. */
function declarationOf(node: Node, imported: ReadonlySet<string>): Parts {
  if (Node.isVariableDeclaration(node)) {
    const { parts } = verbatim(node.getInitializerOrThrow(), imported);
    return [`const ${node.getName()} = `, ...parts, ";"];
  }
  const [first = "", ...rest] = verbatim(node, imported).parts;
  return [typeof first === "string" ? first.replace(/^export (default )?/, "") : first, ...rest];
}

/** With each line a step deeper; not where one may be part of a value. */
function indented(parts: Parts): Parts {
  if (parts.some((part) => typeof part === "string" && part.includes("`"))) return parts;
  return parts.map((part) =>
    typeof part === "string" ? part.replaceAll(/\n(?!\n)/g, "\n  ") : part,
  );
}

/** With texts that stand beside each other as one. */
function joined(parts: Parts): Parts {
  const merged: Parts = [];
  for (const part of parts) {
    const last = merged.at(-1);
    if (typeof part === "string" && typeof last === "string")
      merged[merged.length - 1] = last + part;
    else merged.push(part);
  }
  return merged;
}
