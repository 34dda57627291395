import { quote } from "../diagnostics/diagnostic.js";
import { type Node, ts, type TypeScript } from "../typescript.js";
import type { Expression, ImportedName, InputPlan } from "../plan/schema.js";
import { definitionModule, moduleFromOutput } from "../plan/paths.js";
import { sortedBy } from "../plan/sorted.js";
import {
  declarationsOf,
  hasModifier,
  isDeclaredInFile,
  isHidden,
  isReference,
  referencesIn,
} from "./scoping.js";
import type { DefinitionFile } from "./parser.js";
import { isConst } from "./functions.js";
import { once } from "../plan/once.js";
import { loadedBy } from "./modules.js";
import { allBelow, identifiersIn } from "./descendants.js";
import { type Options } from "./options.js";
import { moduleOf, schemaHash, sourceHash } from "./tokens.js";
import { slipHint, strangersIn } from "./told-options.js";

/** An example of what each workflow needs. */
export const oneInput = { input: "z.object({ … })" };

export const withInput =
  "`{ input: z.object({ … }) }`; for a workflow without input `{ input: z.object({}) }`";

/** @param known all options of a workflow */
export function readInput(
  options: Options,
  known: readonly string[],
  at: Node,
  workflow: string,
  file: DefinitionFile,
): InputPlan | undefined {
  const option = options.get("input");
  if (option === undefined && options.rest === undefined) {
    const slip = slipHint(options, ["input"]);
    const others = slip === undefined ? strangersIn(options, known) : "";
    const add = "write `input: z.object({ … })`; for none, `input: z.object({})`";
    const message = `workflow ${quote(workflow)} has no input${others}`;
    return file.report("missingOption", at, message, slip ?? add);
  }
  const isSeen = option?.elsewhere === undefined && option && ts.isExpression(option.value);
  if (option === undefined || !isSeen || !ts.isExpression(option.value)) {
    const unseen = option === undefined ? (options.rest ?? []) : [option.value];
    return { kind: "definition", hash: sourceHash(unseen, file), closed: [] };
  }
  return schemaPlan(option.value, file);
}

/**
 * Returns how a schema comes into the generated file, if its types can be found without the
 * definition.
 */
export function schemaPlan(expression: TypeScript.Expression, file: DefinitionFile): InputPlan {
  const hash = schemaHash(expression, moduleOf(file), file.modules);
  const used = namesUsed(expression, file);
  // What a function around it declares, is nowhere else.
  if (used === undefined) return { kind: "definition", hash, closed: [] };
  const { names, globals, closed, consts } = used;
  const narrowed = narrowedBefore(expression, file);
  const isGuarded = [...names.keys(), ...globals, ...consts.keys()].some((each) =>
    narrowed.has(each),
  );
  const parts = [expression, ...consts.values()];
  const staysThere = isGuarded || parts.some(isBoundToItsPlace);
  if (closed.size > 0 || staysThere)
    return { kind: "definition", hash, closed: [...closed].sort() };
  const named = withoutParentheses(expression);
  const only = ts.isIdentifier(named) ? importable(named, file) : undefined;
  if (only !== undefined) return { kind: "import", import: only, hash };
  const inOrder = [...consts].sort(([, one], [, other]) => one.pos - other.pos);
  return {
    kind: "copy",
    imports: sortedBy(names.values(), ({ local }) => local),
    hash,
    expression: verbatim(expression, file),
    globals: [...globals].sort(),
    consts: inOrder.map(([name, node]) => ({ name, declaration: verbatim(node, file) })),
  };
}

/**
 * Returns what a schema names, also by the consts of its file; undefined if that is nowhere else.
 */
function namesUsed(expression: Node, file: DefinitionFile) {
  const names = new Map<string, ImportedName>();
  const globals = new Set<string>();
  const closed = new Set<string>();
  const consts = new Map<string, TypeScript.VariableDeclaration>();
  const parts = [expression];
  for (const part of parts) {
    const free = freeNames(part);
    if (free.some((id) => isHidden(id))) return undefined;
    for (const id of free) {
      const { text } = id;
      const name = importable(id, file);
      const copied = name === undefined ? copiedConst(id, file) : undefined;
      if (name !== undefined) {
        const typeOnly = name.typeOnly && names.get(text)?.typeOnly !== false;
        names.set(text, { ...name, typeOnly });
      } else if (copied !== undefined) {
        if (!consts.has(text)) parts.push(copied);
        consts.set(text, copied);
      } else if (isDeclaredInFile(text, file) || file.imports.has(text)) closed.add(text);
      else globals.add(text);
    }
  }
  return { names, globals, closed, consts };
}

/**
 * The const that a name stands for, if it is the same when it is written again beside a schema. An
 * enum or a class would be another one, and JavaScript would have no types.
 */
function copiedConst(id: TypeScript.Identifier, file: DefinitionFile) {
  if (isOfType(id) || /\.jsx?$/.test(file.file)) return undefined;
  const [only, other] = declaredAs(id.text, file).filter((each) => !isOnlyType(each));
  if (only === undefined || other !== undefined || !ts.isVariableDeclaration(only))
    return undefined;
  const isPlain = ts.isIdentifier(only.name) && only.initializer !== undefined && isConst(only);
  return isPlain ? only : undefined;
}

const withoutParentheses = (node: Node): Node =>
  ts.isParenthesizedExpression(node) || ts.isSatisfiesExpression(node)
    ? withoutParentheses(node.expression)
    : node;

/** Says whether something in it means something else elsewhere: `this`, `await`, and so on. */
function isBoundToItsPlace(whole: Node): boolean {
  const isOwn = (part: Node, hasOwn: (around: Node) => boolean): boolean => {
    let around = part;
    while (around !== whole) {
      around = around.parent;
      if (hasOwn(around)) return true;
    }
    return false;
  };
  return [whole, ...allBelow(whole)].some((part) => {
    if (part.kind === ts.SyntaxKind.ThisKeyword) return !isOwn(part, hasOwnThis);
    return ts.isAwaitExpression(part) ? !isOwn(part, ts.isFunctionLike) : loadsOrRuns(part);
  });
}

const hasOwnThis = (part: Node): boolean =>
  ts.isClassLike(part) || (ts.isFunctionLike(part) && !ts.isArrowFunction(part));

/** Names of values that statements above may have given another type, as a guard does. */
function narrowedBefore(at: Node, { source }: DefinitionFile): ReadonlySet<string> {
  const guards = source.statements.filter(
    (each) =>
      each.end <= at.pos && !ts.isDeclarationStatement(each) && !ts.isVariableStatement(each),
  );
  const names = guards.flatMap(identifiersIn).filter((id) => isReference(id) && !isCallee(id));
  return new Set(names.map(({ text }) => text));
}

/** Says whether a name begins what is called: `z` in `z.config()`. */
const isCallee = (part: Node): boolean =>
  (ts.isPropertyAccessExpression(part.parent) && isCallee(part.parent)) ||
  (ts.isCallExpression(part.parent) && part.parent.expression === part);

/** `import.meta`, `eval(…)`, or a load of a module that is relative to the file or computed. */
function loadsOrRuns(part: Node): boolean {
  // A Standard Schema written here has its types from `defineWorkflow`.
  if (ts.isStringLiteralLike(part)) return part.text === "~standard";
  if (ts.isMetaProperty(part)) return part.keywordToken === ts.SyntaxKind.ImportKeyword;
  if (ts.isImportTypeNode(part)) {
    const type = ts.isLiteralTypeNode(part.argument) ? part.argument.literal : undefined;
    return type !== undefined && ts.isStringLiteralLike(type) && type.text.startsWith(".");
  }
  if (!ts.isCallExpression(part)) return false;
  const { expression: callee } = part;
  const module = loadedBy(part);
  if (module !== undefined) return module.name?.startsWith(".") !== false;
  return ts.isIdentifier(callee) && callee.text === "eval";
}

const freeNames = once((expression: Node): TypeScript.Identifier[] =>
  ts.isIdentifier(expression)
    ? [expression]
    : referencesIn(expression, undefined, expression.parent),
);

/**
 * Returns how a name comes into the generated file: from the module it is of, or from that file.
 */
function importable(id: TypeScript.Identifier, file: DefinitionFile): ImportedName | undefined {
  const local = id.text;
  const from = file.imports.get(local);
  if (from?.isRequired === true) return undefined;
  if (from !== undefined) {
    const { imported, typeOnly } = from;
    return { local, imported, module: moduleFromOutput(file.origin, from.module), typeOnly };
  }
  const all = declaredAs(local, file);
  const meant = all.filter((each) => isOnlyType(each) === isOfType(id));
  const own = meant.length > 0 ? meant : all;
  // A type and a value of one name are exported each for itself, but for `export { both }`.
  const isOther = all.some(isExported) && !own.some(isExported);
  const [exported] = (file.exports.get(local) ?? []).filter((each) => each !== local || !isOther);
  if (exported === undefined) return undefined;
  const typeOnly = own.every(isOnlyType);
  return { local, imported: exported, module: definitionModule(file.file), typeOnly };
}

const isOnlyType = (node: Node): boolean =>
  ts.isInterfaceDeclaration(node) || ts.isTypeAliasDeclaration(node);

/** Says whether a name stands for a type, as in `z.custom<Row>()`, and not in `typeof row`. */
function isOfType(id: Node): boolean {
  const { parent } = id;
  if (ts.isQualifiedName(parent)) return isOfType(parent);
  return ts.isTypeReferenceNode(parent);
}

function isExported(node: TypeScript.NamedDeclaration): boolean {
  const statement = ts.isVariableDeclaration(node) ? node.parent.parent : node;
  return hasModifier(statement, ts.SyntaxKind.ExportKeyword);
}

const declaredAs = (name: string, { source }: DefinitionFile): TypeScript.NamedDeclaration[] =>
  source.statements
    .flatMap(declarationsOf)
    .flatMap(([declared, node]) => (declared === name ? [node] : []));

/** A piece of source as it is written, cut at the names that are imported. */
function verbatim(node: Node, file: DefinitionFile): Expression {
  const parts: Expression["parts"][number][] = [];
  const text = node.getSourceFile().text;
  const dedent = dedenter(node);
  let from = node.getStart();
  for (const id of freeNames(node)) {
    if (importable(id, file) === undefined) continue;
    const at = id.getStart();
    const shorthand = ts.isShorthandPropertyAssignment(id.parent);
    parts.push(dedent(text.slice(from, at)), { name: id.text, shorthand });
    // An escaped name is longer in the source.
    from = id.getEnd();
  }
  parts.push(dedent(text.slice(from, node.getEnd())));
  return { parts };
}

/** Takes the definition's margin off all lines but the first, if no string is over several. */
function dedenter(node: Node): (part: string) => string {
  const text = node.getSourceFile().text;
  const lineStart = text.lastIndexOf("\n", node.getStart()) + 1;
  const width = text.slice(lineStart).search(/[^ \t]/);
  if (width <= 0) return (part) => part;
  const isOverLines = (part: Node) =>
    (ts.isStringLiteralLike(part) || ts.isTemplateExpression(part)) &&
    part.getText().includes("\n");
  if (allBelow(node.parent).some(isOverLines)) return (part) => part;
  const margin = new RegExp(`\\n[ \\t]{1,${width}}`, "g");
  return (part) => part.replace(margin, "\n");
}
