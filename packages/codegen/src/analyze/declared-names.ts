import { ts, type TypeScript } from "../ts-morph.js";
import type { DefinitionFile } from "./definition-file.js";

/** Whether a name is declared at the top of a file, other than by an import from a module. */
export function isDeclaredInFile(name: string, { source }: DefinitionFile): boolean {
  return declaredNames(source.compilerNode).has(name);
}

const found = new WeakMap<TypeScript.SourceFile, ReadonlySet<string>>();

/** The names that belong to a whole file: also those of a `var` inside a block or a loop. */
function declaredNames(source: TypeScript.SourceFile): ReadonlySet<string> {
  const known = found.get(source);
  if (known !== undefined) return known;
  const names = new Set<string>();
  for (const statement of source.statements) {
    if (hasName(statement)) names.add(statement.name.text);
    else if (ts.isVariableStatement(statement)) addNames(statement.declarationList, names);
    else addVars(statement, names);
  }
  found.set(source, names);
  return names;
}

function hasName(
  statement: TypeScript.Statement,
): statement is TypeScript.Statement & { readonly name: TypeScript.Identifier } {
  const isDeclaration =
    ts.isFunctionDeclaration(statement) ||
    ts.isClassDeclaration(statement) ||
    ts.isEnumDeclaration(statement) ||
    ts.isInterfaceDeclaration(statement) ||
    ts.isTypeAliasDeclaration(statement) ||
    ts.isModuleDeclaration(statement) ||
    ts.isImportEqualsDeclaration(statement);
  return isDeclaration && statement.name !== undefined && ts.isIdentifier(statement.name);
}

function addNames(list: TypeScript.VariableDeclarationList, names: Set<string>): void {
  for (const { name } of list.declarations) for (const each of boundNames(name)) names.add(each);
}

/** Collects the `var` of a statement and of those inside it; functions and classes keep theirs. */
function addVars(part: TypeScript.Node, names: Set<string>): void {
  if (ts.isVariableDeclarationList(part)) {
    if ((part.flags & ts.NodeFlags.BlockScoped) === 0) addNames(part, names);
    return;
  }
  if (ts.isFunctionDeclaration(part) || ts.isClassDeclaration(part) || ts.isModuleDeclaration(part))
    return;
  const holdsStatements =
    ts.isStatement(part) ||
    ts.isBlock(part) ||
    ts.isCaseBlock(part) ||
    ts.isCaseOrDefaultClause(part) ||
    ts.isCatchClause(part);
  if (holdsStatements) ts.forEachChild(part, (child) => addVars(child, names));
}

/** The names that a name or a pattern of names binds. */
export function boundNames(name: TypeScript.BindingName): string[] {
  if (ts.isIdentifier(name)) return [name.text];
  return name.elements.flatMap((each) => (ts.isBindingElement(each) ? boundNames(each.name) : []));
}
