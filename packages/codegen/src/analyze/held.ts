import type { ArrayLiteralExpression, CallExpression, ObjectLiteralExpression } from "ts-morph";
import { Node } from "../ts-morph.js";
import { isAssigned, isDeclaredBetween, nameOf, usesOf } from "./scoping.js";
import type { DefinitionFile } from "./definition-file.js";
import { constantOf, unwrap } from "./functions.js";
import { isImported } from "./modules.js";

type Literal = ObjectLiteralExpression | ArrayLiteralExpression;

/** The object that an expression is, or names as a const that nothing in the file can change. */
export function objectOf(value: Node, file: DefinitionFile): ObjectLiteralExpression | undefined {
  const node = unwrap(value);
  const held = heldIn(node, file) ?? node;
  return Node.isObjectLiteralExpression(held) ? held : undefined;
}

/** The object or list of a const at the top of the file that nothing in the file can change. */
export function heldIn(name: Node, file: DefinitionFile): Literal | undefined {
  if (!Node.isIdentifier(name)) return undefined;
  const held = constantOf(name, file);
  if (!isLiteral(held)) return undefined;
  return new Uses(file).leave(nameOf(name), held) ? held : undefined;
}

const isLiteral = (node: Node | undefined): node is Literal =>
  Node.isObjectLiteralExpression(node) || Node.isArrayLiteralExpression(node);

/** Whether uses of objects and lists leave them unchanged. What cannot be followed may not. */
class Uses {
  readonly #seen = new Set<string>();

  constructor(private readonly file: DefinitionFile) {}

  leave(name: string, held: Node): boolean {
    if (this.#seen.has(name)) return true;
    this.#seen.add(name);
    return usesOf(name, this.file.source).every((id) => this.#leaves(id, held));
  }

  /** @param held what is used, unless it is not known */
  #leaves(use: Node, held: Node | undefined): boolean {
    if (isAssigned(use)) return false;
    const parent = use.getParentOrThrow();
    if (held !== undefined && isScalar(held)) return true;
    if (unwrap(parent) !== parent) return this.#leaves(parent, held);
    if (Node.isTypeQuery(parent) || Node.isExportSpecifier(parent)) return true;
    if (Node.isCallExpression(parent))
      return use !== parent.getExpression() && this.#isTaken(parent);
    if (Node.isPropertyAccessExpression(parent))
      return (
        isReader(parent.getName(), held) || this.#leaves(parent, memberOf(held, parent.getName()))
      );
    if (
      Node.isForOfStatement(parent) ||
      Node.isSpreadElement(parent) ||
      Node.isElementAccessExpression(parent)
    )
      return isListOfScalars(held) && !isAssigned(parent);
    if (Node.isPropertyAssignment(parent) || Node.isShorthandPropertyAssignment(parent))
      return this.#leaves(parent.getParentOrThrow(), undefined);
    if (Node.isSpreadAssignment(parent)) return this.#leaves(parent.getParentOrThrow(), held);
    const name = Node.isVariableDeclaration(parent) ? parent.getNameNode() : undefined;
    return (
      Node.isIdentifier(name) &&
      constantOf(name, this.file) !== undefined &&
      this.leave(nameOf(name), held ?? use)
    );
  }

  /** Whether a call takes its arguments into a definition, or as the input of a child. */
  #isTaken(call: CallExpression): boolean {
    const { imports, source } = this.file;
    const callee = call.getExpression();
    if (["defineWorkflow", "child", "childNamed"].some((each) => isImported(callee, imports, each)))
      return true;
    if (!Node.isPropertyAccessExpression(callee)) return false;
    const before = unwrap(callee.getExpression());
    if (Node.isCallExpression(before)) return this.#isTaken(before);
    // The builder of a body.
    return Node.isIdentifier(before) && isDeclaredBetween(before, source);
  }
}

/** What nobody can change. A called method may change its object, so most functions are not. */
const isScalar = (node: Node): boolean =>
  Node.isArrowFunction(node) ||
  Node.isStringLiteral(node) ||
  Node.isNumericLiteral(node) ||
  Node.isBigIntLiteral(node) ||
  Node.isTrueLiteral(node) ||
  Node.isFalseLiteral(node) ||
  Node.isNullLiteral(node) ||
  Node.isNoSubstitutionTemplateLiteral(node) ||
  Node.isTemplateExpression(node) ||
  Node.isPrefixUnaryExpression(node);

const isListOfScalars = (held: Node | undefined): boolean =>
  Node.isArrayLiteralExpression(held) && held.getElements().every((each) => isScalar(unwrap(each)));

/** Whether a member of a list gives what is in it, or something new. */
const isReader = (name: string, held: Node | undefined): boolean =>
  isListOfScalars(held) && readers.has(name);

const readers: ReadonlySet<string> = new Set(
  (
    "length at concat entries every filter find findIndex findLast flatMap forEach includes indexOf join keys " +
    "lastIndexOf map reduce reduceRight slice some toReversed toSorted toSpliced values with"
  ).split(" "),
);

/** What a member of an object is, if that is written out. */
function memberOf(held: Node | undefined, name: string): Node | undefined {
  if (!Node.isObjectLiteralExpression(held)) return undefined;
  if (!held.getProperties().every(Node.isPropertyAssignment)) return undefined;
  const member = held.getProperty(name);
  const value = Node.isPropertyAssignment(member) ? member.getInitializer() : undefined;
  return value && unwrap(value);
}
