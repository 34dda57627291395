import { type Node, ts, type TypeScript } from "../typescript.js";
import { quote } from "../diagnostics/diagnostic.js";
import type { CodeName } from "../diagnostics/codes.js";
import type { DefinitionFile } from "./parser.js";
import { calleeName, callsIn } from "./descendants.js";
import { isCalled, isConst, isMember, unwrap, wrapping } from "./functions.js";
import { reportMisused, writeOut } from "./misuse.js";
import { isImported, localNamesOf } from "./modules.js";
import { referencesIn, variablesIn } from "./scoping.js";

export interface NodeCall {
  readonly kind: string;
  readonly kindNode: TypeScript.Identifier;
  readonly call: TypeScript.CallExpression;
  /** Where it is written. Default: where the definition is. */
  readonly file?: DefinitionFile;
}

/** A definition: an exported const whose whole chain is written out, unless it is refused. */
export interface FoundDefinition {
  /** Says whether it was reported as a whole. It is read for what else is wrong with it. */
  readonly isRefused: boolean;
  /** Says whether its chain goes on where it is not seen. */
  readonly isPart: boolean;
  readonly file: DefinitionFile;
  readonly name: string;
  readonly nameNode: Node;
  readonly root: TypeScript.CallExpression;
  readonly nodes: readonly NodeCall[];
}

export interface FoundInFile {
  readonly definitions: FoundDefinition[];
  /** Every local name that a workflow is assigned to, also where something is wrong with it. */
  readonly locals: ReadonlySet<string>;
}

export function findDefinitions(file: DefinitionFile): FoundInFile {
  const { imports, source } = file;
  const names = localNamesOf(imports, "defineWorkflow").add("defineWorkflow");
  const chains = callsIn(source)
    .filter((call) => names.has(calleeName(call) ?? ""))
    .filter((call) => isImported(call.expression, imports, "defineWorkflow"))
    .map((root) => ({ root, chain: climb(root) }));
  type Found = (typeof chains)[number];
  const held = new Map<string, { declaration: TypeScript.VariableDeclaration; found: Found }>();
  for (const found of chains) {
    const holder = declarationOf(found.chain.top);
    if (holder === undefined) reportLoose(found.root, found.chain.top, file);
    else held.set(holder.local, { declaration: holder.declaration, found });
  }
  reportMisused(file);
  const continued = reportContinued(new Set(held.keys()), file);
  const definitions = [...held].flatMap(([local, { declaration, found }]) => {
    const name = exportedName(local, declaration, continued, file);
    const { broken, nodes } = found.chain;
    if (broken !== undefined) {
      const message = `the chain of workflow ${quote(local)} is not written out as plain calls`;
      file.report("computedChain", broken, message, writeOut);
    }
    const isPart = broken !== undefined || continued.has(local);
    const isRefused = name === undefined || isPart;
    const nameNode = declaration.name;
    return [{ isRefused, isPart, file, name: name ?? local, nameNode, root: found.root, nodes }];
  });
  return { definitions, locals: new Set(held.keys()) };
}

/** Climbs from `defineWorkflow(…)` along `.step(…).parent(…)`, also past what is not plain. */
function climb(root: TypeScript.CallExpression): { top: Node; nodes: NodeCall[]; broken?: Node } {
  const nodes: NodeCall[] = [];
  let top: Node = root;
  let broken: Node | undefined;
  for (;;) {
    top = wrapping(top);
    const { parent } = top;
    if (!isMember(parent) || parent.expression !== top) break;
    const call = parent.parent;
    const isCall = ts.isCallExpression(call) && call.expression === parent;
    const isNamed = ts.isPropertyAccessExpression(parent);
    const kindNode = isNamed ? parent.name : parent.argumentExpression;
    const isPlain = isCall && !parent.questionDotToken && !call.questionDotToken;
    if (isNamed && isPlain && ts.isIdentifier(kindNode))
      nodes.push({ kind: kindNode.text, kindNode, call });
    else broken ??= kindNode;
    top = isCall ? call : parent;
  }
  return broken === undefined ? { top, nodes } : { top, nodes, broken };
}

/** The variable at the top of the file that a chain is the value of. */
function declarationOf({ parent }: Node) {
  if (!ts.isVariableDeclaration(parent) || !ts.isIdentifier(parent.name)) return undefined;
  const statement = parent.parent.parent;
  const isOnTop = ts.isVariableStatement(statement) && ts.isSourceFile(statement.parent);
  return isOnTop ? { declaration: parent, local: parent.name.text } : undefined;
}

function reportLoose(root: TypeScript.CallExpression, top: Node, file: DefinitionFile): void {
  const isDefault = ts.isExportAssignment(top.parent);
  const message = isDefault
    ? "this workflow is the default export of its file, so it has no name"
    : "this workflow is part of a larger expression or statement, so what it is made of is only known when it runs";
  const hint = isDefault ? "give it one: `export const name = defineWorkflow({ … })`" : writeOut;
  file.report(isDefault ? "notExported" : "computedChain", root.expression, message, hint);
}

/** `base.step(…)`, where `base` is a definition, spreads a workflow over statements. */
function reportContinued(locals: ReadonlySet<string>, file: DefinitionFile): Set<string> {
  const continued = new Set<string>();
  for (const id of referencesIn(file.source, (text) => locals.has(text))) {
    const use = wrapping(id);
    const member = use.parent;
    if (!isMember(member) || member.expression !== use || !isCalled(member)) continue;
    continued.add(id.text);
    const message = `the chain of ${quote(id.text)} goes on in another expression, with ${member.getText().slice(use.getText().length)}(…)`;
    file.report("computedChain", id, message, writeOut);
  }
  return continued;
}

/** The one name a definition is exported under; undefined, and reported, if there is not one. */
function exportedName(
  local: string,
  declaration: TypeScript.VariableDeclaration,
  continued: ReadonlySet<string>,
  file: DefinitionFile,
): string | undefined {
  const exported = file.exports.get(local) ?? [];
  const names = exported.filter((each) => each !== "default");
  const [name] = names;
  const refuse = (code: CodeName, what: string, hint: string): undefined =>
    file.report(code, declaration.name, `workflow ${quote(local)} ${what}`, hint);
  const exportIt = `write \`export const ${local}\``;
  if (!isConst(declaration))
    return refuse("computedChain", "is held in a variable that can change", exportIt);
  if (name === undefined && exported.includes("default")) {
    const byName = `export it by its name too: \`export const ${local}\``;
    return refuse("notExported", "is exported as the default of its file only", byName);
  }
  // Of one that goes on elsewhere that has been reported.
  if (name === undefined && continued.has(local)) return undefined;
  if (name === undefined)
    return refuse("notExported", "is not exported, so generated code cannot reach it", exportIt);
  const all = [...names, ...aliasesOf(local, file).filter((each) => each !== "default")];
  if (all.length > 1) {
    const what = `is exported under ${all.length} names: ${all.join(", ")}`;
    return refuse("notExported", what, "a workflow has one name: keep one of the exports");
  }
  return continued.has(local) ? undefined : name;
}

function aliasesOf(local: string, { source, exports }: DefinitionFile): string[] {
  return [...variablesIn(source)].flatMap(([name, { initializer }]) => {
    const held = initializer && unwrap(initializer);
    const isAlias = held !== undefined && ts.isIdentifier(held) && held.text === local;
    return isAlias ? (exports.get(name) ?? []) : [];
  });
}
