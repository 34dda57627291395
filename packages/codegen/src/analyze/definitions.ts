import type { CallExpression, Identifier, VariableDeclaration } from "ts-morph";
import { Node } from "../ts-morph.js";
import { quote } from "../diagnostics/diagnostic.js";
import type { CodeName } from "../diagnostics/codes.js";
import type { DefinitionFile } from "./parser.js";
import { calleeName, callsIn } from "./descendants.js";
import { isCalled, isConst, unwrap, wrapping } from "./functions.js";
import { reportMisused, writeOut } from "./misuse.js";
import { isImported, localNamesOf } from "./modules.js";
import { referencesIn } from "./scoping.js";

export interface NodeCall {
  readonly kind: string;
  readonly kindNode: Identifier;
  readonly call: CallExpression;
}

/** A definition: an exported const whose whole chain is written out, unless it is refused. */
export interface FoundDefinition {
  /** Whether it was reported as a whole. It is read for what else is wrong with it. */
  readonly isRefused: boolean;
  /** Whether its chain goes on where it is not seen. */
  readonly isPart: boolean;
  readonly file: DefinitionFile;
  readonly name: string;
  readonly nameNode: Node;
  readonly root: CallExpression;
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
  const chains = callsIn(source, (call) => names.has(calleeName(call) ?? ""))
    .filter((call) => isImported(call.getExpression(), imports, "defineWorkflow"))
    .map((root) => ({ root, chain: climb(root) }));
  type Found = (typeof chains)[number];
  const held = new Map<string, { declaration: VariableDeclaration; found: Found }>();
  for (const found of chains) {
    const declaration = declarationOf(found.chain.top);
    if (declaration === undefined) reportLoose(found.root, found.chain.top, file);
    else held.set(declaration.getName(), { declaration, found });
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
    const nameNode = declaration.getNameNode();
    return [{ isRefused, isPart, file, name: name ?? local, nameNode, root: found.root, nodes }];
  });
  return { definitions, locals: new Set(held.keys()) };
}

/** From `defineWorkflow(…)` outwards, along `.step(…).parent(…)`. */
function climb(root: CallExpression): { top: Node; nodes: NodeCall[]; broken?: Node } {
  const nodes: NodeCall[] = [];
  let top: Node = root;
  for (;;) {
    top = wrapping(top);
    const parent: Node | undefined = top.getParent();
    if (!isMember(parent) || parent.getExpression() !== top) return { top, nodes };
    const call = parent.getParent();
    const isCall = Node.isCallExpression(call) && call.getExpression() === parent;
    const isNamed = Node.isPropertyAccessExpression(parent);
    const kindNode = isNamed ? parent.getNameNode() : parent.getArgumentExpression();
    const isPlain = isCall && !parent.hasQuestionDotToken() && !call.hasQuestionDotToken();
    if (!isNamed || !isPlain || !Node.isIdentifier(kindNode))
      return { top: isCall ? call : parent, nodes, broken: kindNode ?? parent };
    nodes.push({ kind: kindNode.getText(), kindNode, call });
    top = call;
  }
}

const isMember = (node: Node | undefined) =>
  Node.isPropertyAccessExpression(node) || Node.isElementAccessExpression(node);

/** The variable at the top of the file that a chain is the value of. */
function declarationOf(top: Node): VariableDeclaration | undefined {
  const declaration = top.getParent();
  if (!Node.isVariableDeclaration(declaration)) return undefined;
  const isOnTop = Node.isSourceFile(declaration.getVariableStatement()?.getParent());
  return isOnTop && Node.isIdentifier(declaration.getNameNode()) ? declaration : undefined;
}

function reportLoose(root: CallExpression, top: Node, file: DefinitionFile): void {
  const isDefault = Node.isExportAssignment(top.getParent());
  const message = isDefault
    ? "this workflow is the default export of its file, so it has no name"
    : "this workflow is part of a larger expression or statement, so what it is made of is only known when it runs";
  const hint = isDefault ? "give it one: `export const name = defineWorkflow({ … })`" : writeOut;
  file.report(isDefault ? "notExported" : "computedChain", root.getExpression(), message, hint);
}

/** `base.step(…)`, where `base` is a definition, spreads a workflow over statements. */
function reportContinued(locals: ReadonlySet<string>, file: DefinitionFile): Set<string> {
  const continued = new Set<string>();
  for (const id of referencesIn(file.source, file.source, (text) => locals.has(text))) {
    const use = wrapping(id);
    const member = use.getParent();
    if (!isMember(member) || member.getExpression() !== use || !isCalled(member)) continue;
    continued.add(id.getText());
    const message = `the chain of ${quote(id.getText())} goes on in another expression, with ${member.getText().slice(use.getText().length)}(…)`;
    file.report("computedChain", id, message, writeOut);
  }
  return continued;
}

/** The one name a definition is exported under; undefined, and reported, if there is not one. */
function exportedName(
  local: string,
  declaration: VariableDeclaration,
  continued: ReadonlySet<string>,
  file: DefinitionFile,
): string | undefined {
  const exported = file.exports.get(local) ?? [];
  const names = exported.filter((each) => each !== "default");
  const [name] = names;
  const refuse = (code: CodeName, what: string, hint: string): undefined =>
    file.report(code, declaration.getNameNode(), `workflow ${quote(local)} ${what}`, hint);
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
  return source.getVariableDeclarations().flatMap((declaration) => {
    const initializer = declaration.getInitializer();
    const held = initializer && unwrap(initializer);
    const isAlias = Node.isIdentifier(held) && held.getText() === local;
    return isAlias ? (exports.get(declaration.getName()) ?? []) : [];
  });
}
