import type {
  ArrowFunction,
  FunctionDeclaration,
  FunctionExpression,
  MethodDeclaration,
} from "ts-morph";
import { Node, VariableDeclarationKind } from "../ts-morph.js";
import type { DefinitionFile } from "./definition-file.js";

/** A function whose body the compiler can read. */
export type FunctionNode =
  ArrowFunction | FunctionExpression | MethodDeclaration | FunctionDeclaration;

/** `(x)`, `x as T`, `x satisfies T` and `x!` are x. */
export function unwrap(node: Node): Node {
  if (
    Node.isParenthesizedExpression(node) ||
    Node.isAsExpression(node) ||
    Node.isSatisfiesExpression(node) ||
    Node.isNonNullExpression(node)
  ) {
    return unwrap(node.getExpression());
  }
  return node;
}

/** The function that an expression is, or names when it is declared at the top of the same file. */
export function functionOf(value: Node, file: DefinitionFile): FunctionNode | undefined {
  const node = unwrap(value);
  if (isFunctionNode(node)) return node;
  if (!Node.isIdentifier(node)) return undefined;
  const declared = file.source.getFunction(node.getText());
  const implemented = declared?.getImplementation() ?? declared;
  if (implemented !== undefined) return implemented.isGenerator() ? undefined : implemented;
  const assigned = constantOf(node.getText(), file);
  return assigned !== undefined && isFunctionNode(assigned) ? assigned : undefined;
}

/** What a name stands for that is a const at the top of the file. */
export function constantOf(name: string, { source }: DefinitionFile): Node | undefined {
  const declaration = source.getVariableDeclaration(name);
  const kind = declaration?.getVariableStatement()?.getDeclarationKind();
  const initializer = declaration?.getInitializer();
  return initializer === undefined || kind !== VariableDeclarationKind.Const
    ? undefined
    : unwrap(initializer);
}

/** A generator is none that anything here could call. */
function isFunctionNode(node: Node): node is FunctionNode {
  if (Node.isFunctionExpression(node) || Node.isMethodDeclaration(node)) return !node.isGenerator();
  return Node.isArrowFunction(node);
}

/** `internal.documents.outline` when an expression is such a path, from `internal` or `api`; else undefined. */
export function referencePath(value: Node, file: DefinitionFile): string | undefined {
  const names: string[] = [];
  let node = unwrap(value);
  while (Node.isPropertyAccessExpression(node) && !node.hasQuestionDotToken()) {
    names.unshift(node.getName());
    node = node.getExpression();
  }
  if (!Node.isIdentifier(node) || names.length < 2) return undefined;
  const root = file.imports.get(node.getText())?.imported;
  return root === "internal" || root === "api" ? [root, ...names].join(".") : undefined;
}
