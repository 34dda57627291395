import type {
  CallExpression,
  ElementAccessExpression,
  Identifier,
  PropertyAccessExpression,
  VariableDeclaration,
} from "ts-morph";
import { Node, ts, VariableDeclarationKind } from "../ts-morph.js";
import type { DefinitionFile } from "./definition-file.js";
import { unwrap } from "./functions.js";
import { callsIn, callsOf, eachBelow, identifiersIn, wrapped } from "./descendants.js";
import { isImported, localNamesOf } from "./modules.js";
import { isDeclaredBetween, isReference } from "./scoping.js";

/** One `.step(…)` or the like in the chain of a definition. */
export interface NodeCall {
  readonly kind: string;
  readonly kindNode: Identifier;
  readonly call: CallExpression;
}

/** A definition that can be read: an exported const whose whole chain is written out. */
export interface FoundDefinition {
  readonly file: DefinitionFile;
  /** The name under which it is exported: the workflow's. */
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

export const writeOut =
  "write `export const name = defineWorkflow({ … }).step(…)` with every node in that one chain";

/** Finds the definitions of a file, and says of the others why they cannot be read. */
export function findDefinitions(file: DefinitionFile): FoundInFile {
  const chains = callsOf(
    file.source,
    localNamesOf(file.imports, "defineWorkflow").add("defineWorkflow"),
  )
    .filter((call) => isImported(call.getExpression(), file.imports, "defineWorkflow"))
    .map((root) => ({ root, chain: climb(root) }));
  const held = new Map<
    string,
    { declaration: VariableDeclaration; found: (typeof chains)[number] }
  >();
  for (const found of chains) {
    const declaration = declarationOf(found.chain.top);
    if (declaration === undefined) reportLoose(found, file);
    else held.set(declaration.getName(), { declaration, found });
  }
  reportMisused(file);
  const continued = reportContinued(new Set(held.keys()), file);
  const definitions = [...held].flatMap(([local, { declaration, found }]) => {
    const name = exportedName(local, declaration, continued, file);
    const { broken, nodes } = found.chain;
    if (broken !== undefined) {
      const message = `the chain of workflow ${JSON.stringify(local)} is not written out as plain calls`;
      file.report("computedChain", broken, message, writeOut);
    }
    if (name === undefined || broken !== undefined) return [];
    return [{ file, name, nameNode: declaration.getNameNode(), root: found.root, nodes }];
  });
  return { definitions, locals: new Set(held.keys()) };
}

interface Chain {
  /** The whole chain as one expression. */
  readonly top: Node;
  readonly nodes: NodeCall[];
  /** Where it stops being plain calls. */
  readonly broken?: Node;
}

/** From `defineWorkflow(…)` outwards, along `.step(…).parent(…)`. */
function climb(root: CallExpression): Chain {
  const nodes: NodeCall[] = [];
  let top: Node = root;
  for (;;) {
    const parent: Node | undefined = top.getParent();
    if (
      Node.isParenthesizedExpression(parent) ||
      Node.isAsExpression(parent) ||
      Node.isSatisfiesExpression(parent)
    ) {
      top = parent;
      continue;
    }
    if (!isMember(parent) || parent.getExpression() !== top) return { top, nodes };
    const call = parent.getParent();
    const isCall = Node.isCallExpression(call) && call.getExpression() === parent;
    const kindNode = Node.isPropertyAccessExpression(parent) ? parent.getNameNode() : undefined;
    if (
      !isCall ||
      parent.hasQuestionDotToken() ||
      call.hasQuestionDotToken() ||
      !Node.isIdentifier(kindNode)
    ) {
      return { top: isCall ? call : parent, nodes, broken: kindNode ?? memberOf(parent) };
    }
    nodes.push({ kind: kindNode.getText(), kindNode, call });
    top = call;
  }
}

const isMember = (
  node: Node | undefined,
): node is PropertyAccessExpression | ElementAccessExpression =>
  Node.isPropertyAccessExpression(node) || Node.isElementAccessExpression(node);

/** What an element access accesses: `["step"]`. */
function memberOf(access: Node): Node {
  return (
    (Node.isElementAccessExpression(access) ? access.getArgumentExpression() : undefined) ?? access
  );
}

/** The variable at the top of the file that a chain is the value of. */
function declarationOf(top: Node): VariableDeclaration | undefined {
  const declaration = top.getParent();
  if (!Node.isVariableDeclaration(declaration) || !Node.isIdentifier(declaration.getNameNode()))
    return undefined;
  return Node.isSourceFile(declaration.getVariableStatement()?.getParent())
    ? declaration
    : undefined;
}

function reportLoose(
  { root, chain }: { root: CallExpression; chain: Chain },
  file: DefinitionFile,
): void {
  const at = root.getExpression();
  if (Node.isExportAssignment(chain.top.getParent())) {
    const message = "this workflow is the default export of its file, so it has no name";
    const hint = "give it one: `export const name = defineWorkflow({ … })`";
    file.report("defaultExport", at, message, hint);
    return;
  }
  const message =
    "this workflow is part of a larger expression or statement, so what it is made of is only known when it runs";
  file.report("computedChain", at, message, writeOut);
}

/** What is made by `defineWorkflow` in another way than by calling what was imported would not be seen. */
function reportMisused(file: DefinitionFile): void {
  const { source, imports } = file;
  const locals = localNamesOf(imports, "defineWorkflow");
  const report = (at: Node, message: string, hint: string) =>
    file.report("misusedDefine", at, message, hint);
  const load = loadOfPackage(source);
  if (load !== undefined) {
    const message = `\`${define}\` is loaded while the code runs, so what is made with it is not seen`;
    report(load, message, importIt);
    return;
  }
  const whole = wholeHandedOn(file);
  if (whole !== undefined) {
    const message = `\`${whole.getText()}\`, which has \`${define}\`, is not used by the name of a member, so what is made with it is not seen`;
    report(whole, message, callIt);
    return;
  }
  for (const id of identifiersIn(source, (text) => text === define || locals.has(text))) {
    const name = id.getText();
    if (isInType(id) || isDeclaredBetween(id, source)) continue;
    const parent = id.getParent();
    if (locals.has(name) && isReference(id) && !isHandedOnRenamed(id, imports)) {
      if (!isCalled(id) && !Node.isExportSpecifier(parent) && !Node.isImportSpecifier(parent))
        report(id, `\`${name}\` is handed on, so what is made with it is not seen`, callIt);
    } else if (isTaken(id)) {
      if (parent === undefined || !isImported(parent, imports, define) || !isCalled(parent))
        report(id, `\`${define}\` is handed on, so what is made with it is not seen`, callIt);
    } else if (isHandedOnRenamed(id, imports)) {
      report(
        id,
        `\`${define}\` is handed on under another name, so what is made with it is not seen`,
        callIt,
      );
    } else if (name === define && isReference(id) && isCalled(id) && !isDeclared(source)) {
      report(id, `\`${define}\` is not imported, so this is no workflow`, importIt);
    }
  }
  // Looked for in the text first: this search takes time.
  if (!/["'`]defineWorkflow["'`]/.test(source.getFullText())) return;
  eachBelow(source.compilerNode, (part) => {
    if (!ts.isElementAccessExpression(part)) return;
    const { argumentExpression: member } = part;
    if (!ts.isStringLiteralLike(member) || member.text !== define) return;
    const message = `\`${define}\` is taken by a computed name, so it is not seen`;
    report(wrapped(member, source), message, callIt);
  });
}

/** Where `* as stepwise` is used otherwise than as `stepwise.name`: `stepwise[key]`, `{ ...stepwise }`. */
function wholeHandedOn({ source, imports }: DefinitionFile): Node | undefined {
  const isWhole = (name: string) => {
    const { module, imported = "", typeOnly } = imports.get(name) ?? {};
    return module === "@stepwise/workflow" && /^(\*|default)$/.test(imported) && typeOnly === false;
  };
  return identifiersIn(source, isWhole).find(
    (id) =>
      isReference(id) && !isInType(id) && !isNamed(wrapping(id)) && !isDeclaredBetween(id, source),
  );
}

/** Whether a member of it is named here: `it.member`, `it["member"]`, `const { member } = it`. */
function isNamed(use: Node): boolean {
  const parent = use.getParent();
  if (Node.isPropertyAccessExpression(parent)) return true;
  if (Node.isElementAccessExpression(parent))
    return Node.isStringLiteral(parent.getArgumentExpression());
  const pattern = Node.isVariableDeclaration(parent) ? parent.getNameNode() : undefined;
  const isPart =
    Node.isImportDeclaration(parent) ||
    Node.isImportClause(parent) ||
    Node.isNamespaceImport(parent) ||
    Node.isImportEqualsDeclaration(parent) ||
    Node.isTypeQuery(parent) ||
    Node.isQualifiedName(parent);
  if (isPart) return true;
  return (
    Node.isObjectBindingPattern(pattern) &&
    pattern.getElements().every((each) => {
      const isRest = each.getDotDotDotToken() !== undefined;
      return !isRest && !Node.isComputedPropertyName(each.getPropertyNameNode());
    })
  );
}

/** `export { defineWorkflow as flow }`, also from another module. */
function isHandedOnRenamed(id: Identifier, imports: Imports): boolean {
  const parent = id.getParent();
  if (!Node.isExportSpecifier(parent) || parent.getNameNode() !== id) return false;
  const isFromElsewhere = parent.getExportDeclaration().hasModuleSpecifier();
  const exported = parent.getAliasNode()?.getText() ?? parent.getName();
  const isIt = isFromElsewhere
    ? id.getText() === define
    : imports.get(id.getText())?.imported === define;
  return isIt && exported !== define;
}

/** `import("@stepwise/workflow")` in a file that says `defineWorkflow`. */
function loadOfPackage(source: DefinitionFile["source"]): Node | undefined {
  const text = source.getFullText();
  if (!text.includes(define) || !/\bimport\s*\(/.test(text)) return undefined;
  const [call] = callsIn(source, ({ expression, arguments: [module] }) => {
    const isLoad = expression.kind === ts.SyntaxKind.ImportKeyword;
    return (
      isLoad &&
      module !== undefined &&
      ts.isStringLiteralLike(module) &&
      module.text === "@stepwise/workflow"
    );
  });
  return call;
}

const define = "defineWorkflow";
const importIt = 'write `import { defineWorkflow } from "@stepwise/workflow"`';
const callIt = `call it where the workflow is, as in \`export const name = ${define}({ … })\`; another name is given to it by \`import { ${define} as other }\``;

/** Whether it is what is called, as it stands: a chain begins with it. */
function isCalled(node: Node): boolean {
  const parent = node.getParent();
  return Node.isCallExpression(parent) && parent.getExpression() === node;
}

/** `defineWorkflow<Input>` is a value. */
const isInType = (node: Node): boolean =>
  node
    .getAncestors()
    .some((each) => Node.isTypeNode(each) && !Node.isExpressionWithTypeArguments(each));

type Imports = DefinitionFile["imports"];

/** Whether it is a member that is taken of something: `stepwise.defineWorkflow`, `const { defineWorkflow } = stepwise`. */
function isTaken(id: Identifier): boolean {
  const parent = id.getParent();
  if (id.getText() !== define) return false;
  if (Node.isPropertyAccessExpression(parent)) return parent.getNameNode() === id;
  return Node.isBindingElement(parent) && parent.getInitializer() !== id;
}

/** Whether the file has a function of its own by that name. */
const isDeclared = (source: DefinitionFile["source"]): boolean =>
  source.getFunction(define) !== undefined || source.getVariableDeclaration(define) !== undefined;

/** What an expression is inside: `(x)`, `x as T`, `x!`, and so on. */
function wrapping(node: Node): Node {
  const parent = node.getParent();
  return parent !== undefined && unwrap(parent) !== parent ? wrapping(parent) : node;
}

/** `base.step(…)`, where `base` is a definition: what the workflow is made of is then spread over statements. */
function reportContinued(locals: ReadonlySet<string>, file: DefinitionFile): Set<string> {
  const continued = new Set<string>();
  for (const id of identifiersIn(file.source, (text) => locals.has(text))) {
    const use = wrapping(id);
    const member = use.getParent();
    if (!isReference(id) || !isMember(member) || isDeclaredBetween(id, file.source)) continue;
    if (member.getExpression() !== use || !isCalled(member)) continue;
    continued.add(id.getText());
    const message = `the chain of ${JSON.stringify(id.getText())} goes on in another expression, with ${member.getText().slice(use.getText().length)}(…)`;
    file.report("computedChain", id, message, writeOut);
  }
  return continued;
}

/** The one name a definition is exported under; undefined, and reported, when there is not exactly one. */
function exportedName(
  local: string,
  declaration: VariableDeclaration,
  continued: ReadonlySet<string>,
  file: DefinitionFile,
): string | undefined {
  const at = declaration.getNameNode();
  const quoted = JSON.stringify(local);
  const names = file.exports.get(local) ?? [];
  const [name] = names;
  if (declaration.getVariableStatement()?.getDeclarationKind() !== VariableDeclarationKind.Const) {
    const message = `workflow ${quoted} is held in a variable that can change`;
    const hint = `write \`export const ${local}\``;
    file.report("computedChain", at, message, hint);
    return undefined;
  }
  if (names.includes("default")) {
    const message = `workflow ${quoted} is the default export of its file`;
    const hint = `export it by its name only: \`export const ${local}\``;
    file.report("defaultExport", at, message, hint);
    return undefined;
  }
  if (name === undefined) {
    if (!continued.has(local)) {
      const message = `workflow ${quoted} is not exported, so generated code cannot reach it`;
      const hint = `write \`export const ${local}\``;
      file.report("notExported", at, message, hint);
    }
    return undefined;
  }
  const all = [...names, ...aliasesOf(local, file)];
  if (all.length > 1) {
    const message = `workflow ${quoted} is exported under ${all.length} names: ${all.join(", ")}`;
    const hint = "a workflow has one name: keep one of the exports";
    file.report("twoExports", at, message, hint);
    return undefined;
  }
  return continued.has(local) ? undefined : name;
}

/** The names of exported variables that are the same workflow: `export const other = workflow`. */
function aliasesOf(local: string, { source, exports }: DefinitionFile): string[] {
  return source.getVariableDeclarations().flatMap((declaration) => {
    const initializer = declaration.getInitializer();
    const held = initializer && unwrap(initializer);
    const isAlias = Node.isIdentifier(held) && held.getText() === local;
    return isAlias ? (exports.get(declaration.getName()) ?? []) : [];
  });
}
