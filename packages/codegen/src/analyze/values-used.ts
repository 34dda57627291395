import { ts, type TypeScript } from "../typescript.js";
import { once } from "../plan/once.js";
import { identifiersIn } from "./descendants.js";
import { declarationsOf, isHidden, isReference } from "./scoping.js";

/** The values of the names at the top of a file: of a variable, or what is declared itself. */
export const valuesIn = once(
  (source: TypeScript.SourceFile): ReadonlyMap<string, TypeScript.Node> =>
    new Map(source.statements.flatMap(valuesOf)),
);

function valuesOf(statement: TypeScript.Statement): [string, TypeScript.Node][] {
  return declarationsOf(statement).flatMap(([name, node]): [string, TypeScript.Node][] => {
    const hasValue =
      ts.isFunctionDeclaration(node) ||
      ts.isClassDeclaration(node) ||
      ts.isEnumDeclaration(node) ||
      ts.isModuleDeclaration(node);
    const own = hasValue ? node : undefined;
    const value = ts.isVariableDeclaration(node) ? node.initializer : (aliasedBy(node) ?? own);
    return value === undefined ? [] : [[name, value]];
  });
}

/** Returns what `import name = held.member` gives a name to. */
function aliasedBy(node: TypeScript.Node): TypeScript.EntityName | undefined {
  const of = ts.isImportEqualsDeclaration(node) ? node.moduleReference : undefined;
  return of === undefined || ts.isExternalModuleReference(of) ? undefined : of;
}

/** Where a file uses some of its imported names as values, in order. */
export const valueUses = (
  source: TypeScript.SourceFile,
  isWanted: (name: string) => boolean,
): TypeScript.Identifier[] =>
  identifiersIn(source).filter(
    (id) => isWanted(id.text) && isReference(id) && !isInType(id) && !isHidden(id),
  );

/** Also in an import, which uses no value. `defineWorkflow<Input>` is a value. */
export const isInType = (part: TypeScript.Node): boolean =>
  ts.findAncestor(
    part,
    (each) =>
      (ts.isTypeNode(each) && !ts.isExpressionWithTypeArguments(each)) ||
      ts.isInterfaceDeclaration(each) ||
      ts.isImportDeclaration(each),
  ) !== undefined;

/**
 * Says whether a part runs while its file is loaded, as what is inside functions mostly does not.
 */
export function isLoading(part: TypeScript.Node): boolean {
  // What is handed on is not read here.
  if (ts.isExportSpecifier(part.parent)) return false;
  const around = ts.findAncestor(part.parent, ts.isFunctionLike);
  return around === undefined || (isCalledAtOnce(around) && isLoading(around));
}

/** `(() => …)()`, and the bodies, cases and branches of nodes, which `defineWorkflow` calls. */
function isCalledAtOnce(fn: TypeScript.Node): boolean {
  const { parent } = fn;
  if (ts.isParenthesizedExpression(parent)) return isCalledAtOnce(parent);
  if (ts.isCallExpression(parent)) return parent.expression === fn;
  const property = ts.isMethodDeclaration(fn) ? fn : parent;
  if (!ts.isObjectLiteralElementLike(property)) return false;
  const around = property.parent.parent;
  if (isNamed(property, "body") || isNamed(property, "default")) return true;
  if (!ts.isPropertyAssignment(around)) return false;
  return isNamed(around, "cases") || isNamed(around, "branches");
}

const isNamed = ({ name }: TypeScript.ObjectLiteralElementLike, text: string): boolean =>
  name !== undefined && ts.isIdentifier(name) && name.text === text;
