import { quote } from "../diagnostics/diagnostic.js";
import { type Node, ts, type TypeScript } from "../typescript.js";
import type { Expression, ImportedName, InputPlan } from "../plan/schema.js";
import { definitionModule, moduleFromOutput } from "../plan/paths.js";
import { sortedBy } from "../plan/sorted.js";
import {
  declarationsOf,
  isDeclaredInFile,
  isHidden,
  isReference,
  referencesIn,
} from "./scoping.js";
import type { DefinitionFile } from "./parser.js";
import { loadedBy } from "./modules.js";
import { allBelow, identifiersIn } from "./descendants.js";
import type { Options } from "./options.js";
import { sourceHash } from "./tokens.js";

export function readInput(
  options: Options,
  at: Node,
  workflow: string,
  file: DefinitionFile,
): InputPlan | undefined {
  const option = options.get("input");
  if (option === undefined && options.rest === undefined) {
    const message = `workflow ${quote(workflow)} has no input`;
    const hint = "write `input: z.object({ … })`; for none, `input: z.object({})`";
    return file.report("missingOption", at, message, hint);
  }
  const isSeen = option?.elsewhere === undefined && option && ts.isExpression(option.value);
  if (option === undefined || !isSeen || !ts.isExpression(option.value)) {
    const unseen = option === undefined ? (options.rest ?? []) : [option.value];
    return { kind: "definition", hash: sourceHash(unseen, file), closed: [] };
  }
  return schemaPlan(option.value, file);
}

/** How a schema comes into the generated file, if its types can be found without the definition. */
export function schemaPlan(expression: TypeScript.Expression, file: DefinitionFile): InputPlan {
  const hash = sourceHash([expression], file);
  const names = new Map<string, ImportedName>();
  const globals = new Set<string>();
  const closed = new Set<string>();
  const free = freeNames(expression);
  // What a function around it declares, is nowhere else.
  if (free.some((id) => isHidden(id))) return { kind: "definition", hash, closed: [] };
  for (const id of free) {
    const name = importable(id, file);
    if (name !== undefined) names.set(name.local, name);
    else if (isDeclaredInFile(id.text, file) || file.imports.has(id.text)) closed.add(id.text);
    else globals.add(id.text);
  }
  const used = [...names.keys(), ...globals];
  const staysThere =
    boundToItsPlace(expression).length > 0 ||
    used.some((name) => narrowedBefore(expression, file).has(name));
  if (closed.size > 0 || staysThere)
    return { kind: "definition", hash, closed: [...closed].sort() };
  const named = withoutParentheses(expression);
  const only = ts.isIdentifier(named) ? names.get(named.text) : undefined;
  if (only !== undefined) return { kind: "import", import: only, hash };
  return {
    kind: "copy",
    imports: sortedBy(names.values(), ({ local }) => local),
    hash,
    expression: verbatim(expression, new Set(names.keys()), free),
    globals: [...globals].sort(),
  };
}

const withoutParentheses = (node: Node): Node =>
  ts.isParenthesizedExpression(node) || ts.isSatisfiesExpression(node)
    ? withoutParentheses(node.expression)
    : node;

/** What means something else elsewhere: `this`, `await`, `import.meta`, `"~standard": …`, … */
function boundToItsPlace(part: Node): string[] {
  const found: string[] = [];
  ts.forEachChild(part, (child) => void found.push(...boundToItsPlace(child)));
  const ownThis = ts.isClassLike(part) || (ts.isFunctionLike(part) && !ts.isArrowFunction(part));
  const isOwn = (word: string) =>
    (word === "await" && ts.isFunctionLike(part)) || (word === "this" && ownThis);
  return [...wordOf(part), ...found.filter((word) => !isOwn(word))];
}

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

function wordOf(part: Node): string[] {
  // A Standard Schema written here has its types from `defineWorkflow`.
  if (ts.isStringLiteralLike(part) && part.text === "~standard") return [part.text];
  const module = loadedModule(part);
  if (module !== undefined)
    return [`${module.load}(${module.name === undefined ? "…" : quote(module.name)})`];
  if (part.kind === ts.SyntaxKind.ThisKeyword) return ["this"];
  if (ts.isAwaitExpression(part)) return ["await"];
  const callee = ts.isCallExpression(part) ? part.expression : undefined;
  if (callee && ts.isIdentifier(callee) && callee.text === "eval") return ["eval"];
  const isMeta = ts.isMetaProperty(part) && part.keywordToken === ts.SyntaxKind.ImportKeyword;
  return isMeta ? ["import.meta"] : [];
}

/** A module that an expression or type loads, if it is relative to the definition or computed. */
function loadedModule(part: Node): ReturnType<typeof loadedBy> {
  const isType = ts.isImportTypeNode(part) && ts.isLiteralTypeNode(part.argument);
  const type = isType ? part.argument.literal : undefined;
  const module =
    type !== undefined && ts.isStringLiteralLike(type)
      ? { load: "import", name: type.text }
      : loadedBy(part);
  return module?.name?.startsWith(".") === false ? undefined : module;
}

const freeNames = (expression: Node): TypeScript.Identifier[] =>
  ts.isIdentifier(expression)
    ? [expression]
    : referencesIn(expression, undefined, expression.parent);

/** How a name comes into the generated file: from the module it is of, or from that file. */
function importable(id: TypeScript.Identifier, file: DefinitionFile): ImportedName | undefined {
  const local = id.text;
  const from = file.imports.get(local);
  if (from?.isRequired === true) return undefined;
  if (from !== undefined) {
    const { imported, typeOnly } = from;
    return { local, imported, module: moduleFromOutput(file.origin, from.module), typeOnly };
  }
  const [exported] = file.exports.get(local) ?? [];
  if (exported === undefined) return undefined;
  const typeOnly = declaredAs(local, file).every(
    (each) => ts.isInterfaceDeclaration(each) || ts.isTypeAliasDeclaration(each),
  );
  return { local, imported: exported, module: definitionModule(file.file), typeOnly };
}

const declaredAs = (name: string, { source }: DefinitionFile): TypeScript.NamedDeclaration[] =>
  source.statements
    .flatMap(declarationsOf)
    .flatMap(([declared, node]) => (declared === name ? [node] : []));

/** A piece of source as it is written, cut at the names that are imported. */
function verbatim(
  node: Node,
  imported: ReadonlySet<string>,
  free: readonly TypeScript.Identifier[],
) {
  const parts: Expression["parts"][number][] = [];
  const text = node.getSourceFile().text;
  const dedent = dedenter(node);
  let from = node.getStart();
  for (const id of free) {
    const name = id.text;
    if (!imported.has(name) && id !== node) continue;
    const at = id.getStart();
    const shorthand = ts.isShorthandPropertyAssignment(id.parent);
    parts.push(dedent(text.slice(from, at)), { name, shorthand });
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
