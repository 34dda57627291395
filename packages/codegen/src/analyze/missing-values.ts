import { Node, ts, type TypeScript } from "../ts-morph.js";
import { declarationsOf, isDeclaredBetween, isReference } from "./scoping.js";
import type { DefinitionFile } from "./parser.js";
import { wrapped } from "./descendants.js";
import { valuesUsed } from "./modules.js";

/** Reports names without a value when used: imported as types, or read before their declaration. */
export function reportMissingValues(file: DefinitionFile): void {
  const { source, imports, placeOf } = file;
  const declared = new Map(source.compilerNode.statements.flatMap(lateNames));
  const reported = new Set<string>();
  for (const [part, isRun] of valuesUsed(source.compilerNode).reverse()) {
    const { text: name } = part;
    const imported = imports.get(name);
    const declaration = declared.get(name);
    const isLate = isRun && declaration !== undefined && declaration.pos > part.pos;
    if (reported.has(name) || !(isLate || imported?.typeOnly === true)) continue;
    const id = wrapped(part, source);
    if (!Node.isIdentifier(id) || !isReference(id) || isDeclaredBetween(id, source)) continue;
    reported.add(name);
    if (isLate) {
      const message = `\`${name}\` has no value yet when it is read here, as it is declared further down`;
      const hint = "move its declaration above this one";
      const place = placeOf(wrapped(declaration, source));
      file.report("noValue", id, message, hint, { message: "declared here", place });
    } else {
      const message = `\`${name}\` is imported as a type, so it has no value when the code runs`;
      const code = imported?.imported === "defineWorkflow" ? "misusedDefine" : "noValue";
      file.report(code, id, message, "import it without `type`");
    }
  }
}

/** The names that have no value before a statement has run. A function has its value at once. */
function lateNames(statement: TypeScript.Statement): [string, TypeScript.Node][] {
  const isLate =
    ts.isVariableStatement(statement) ||
    ts.isClassDeclaration(statement) ||
    ts.isEnumDeclaration(statement) ||
    (ts.isImportEqualsDeclaration(statement) &&
      !ts.isExternalModuleReference(statement.moduleReference));
  const isAmbient = ({ kind }: TypeScript.ModifierLike) => kind === ts.SyntaxKind.DeclareKeyword;
  if (!isLate || statement.modifiers?.some(isAmbient) === true) return [];
  return declarationsOf(statement).map(([name, node]) => [name, node.name ?? node]);
}
