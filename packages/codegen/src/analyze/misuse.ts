import type {
  ElementAccessExpression,
  Identifier,
  PropertyAccessExpression,
  SourceFile,
} from "ts-morph";
import { Node, ts, type TypeScript } from "../ts-morph.js";
import type { DefinitionFile } from "./parser.js";
import { allBelow, calleeName, callsIn, wrapped } from "./descendants.js";
import { isCalled, unwrap, wrapping } from "./functions.js";
import { isImported, loadedBy, localNamesOf } from "./modules.js";
import { boundNames, isDeclaredBetween, isDeclaredInFile, isReference, usesOf } from "./scoping.js";
import { quote } from "../diagnostics/diagnostic.js";
import { targetOf } from "./children.js";
import type { FoundInFile } from "./definitions.js";
import { nodeKinds } from "./nodes/table.js";
import type { Workflows } from "./workflows.js";

export const writeOut =
  "write `export const name = defineWorkflow({ … }).step(…)` with every node in that one chain";

const define = "defineWorkflow";
const stepwise = "@stepwise/workflow";
const importIt = `write \`import { ${define} } from "${stepwise}"\``;
const callIt = `call it where the workflow is, as in \`export const name = ${define}({ … })\`; another name is given to it by \`import { ${define} as other }\``;

interface Misuse {
  readonly at: Node;
  readonly what: string;
  readonly hint?: string;
  readonly isWhole?: true;
}

/** Reports what is made with `defineWorkflow` otherwise than by a call of it as it is imported. */
export function reportMisused(file: DefinitionFile): void {
  const { source } = file;
  const found: Misuse[] = [];
  const mentionsIt = source.getFullText().includes(define);
  const locals = localNamesOf(file.imports, define);
  const wholes = new Set(wholeModules(file));
  for (const part of allBelow(source.compilerNode)) {
    if (ts.isIdentifier(part)) {
      const { text } = part;
      if (text !== define && !locals.has(text) && !wholes.has(text)) continue;
      // An identifier is wrapped as one.
      found.push(...misusesOf(wrapped(part, source) as Identifier, locals, wholes, file));
    } else if (ts.isElementAccessExpression(part)) {
      const name = part.argumentExpression;
      if (!ts.isStringLiteralLike(name) || name.text !== define) continue;
      const what = `\`${define}\` is taken by a computed name, so it is not seen`;
      found.push({ at: wrapped(name, source), what });
    } else if (mentionsIt && loadedBy(part)?.name === stepwise) {
      if (ts.isCallExpression(part) && ts.isIdentifier(part.expression)) continue;
      const what = `\`${define}\` is loaded while the code runs, so what is made with it is not seen`;
      found.push({ at: wrapped(part, source), what, hint: importIt, isWhole: true });
    }
  }
  const whole = found.find(({ isWhole }) => isWhole);
  for (const { at, what, hint = callIt } of whole === undefined ? found : [whole])
    file.report("misusedDefine", at, what, hint);
}

const wholeModules = ({ imports }: DefinitionFile): string[] =>
  [...imports].flatMap(([name, { module, imported, typeOnly }]) =>
    module === stepwise && /^(\*|default)$/.test(imported) && !typeOnly ? [name] : [],
  );

function misusesOf(
  at: Identifier,
  locals: ReadonlySet<string>,
  wholes: ReadonlySet<string>,
  file: DefinitionFile,
): Misuse[] {
  const { source, imports } = file;
  if (isInType(at) || isDeclaredBetween(at, source)) return [];
  const name = at.getText();
  const parent = at.getParent();
  const isValue = isReference(at.compilerNode);
  const handedOn = { at, what: `\`${name}\` is handed on, so what is made with it is not seen` };
  if (wholes.has(name)) {
    if (!isValue || isNamed(wrapping(at))) return [];
    const what = `\`${name}\`, which has \`${define}\`, is not used by the name of a member, so what is made with it is not seen`;
    return [{ at, what, isWhole: true }];
  }
  const isRenamed = isHandedOnRenamed(at, imports);
  if (imports.get(name)?.typeOnly === true && isCalled(at)) {
    const what = `\`${name}\` is imported as a type, so it has no value when the code runs`;
    return [{ at, what, hint: "import it without `type`" }];
  }
  if (locals.has(name) && isValue && !isRenamed) {
    const isPlain =
      isCalled(at) || Node.isExportSpecifier(parent) || Node.isImportSpecifier(parent);
    return isPlain ? [] : [handedOn];
  }
  if (isTaken(at)) {
    const isMade = parent !== undefined && isImported(parent, imports, define) && isCalled(parent);
    return isMade ? [] : [handedOn];
  }
  const renamed = `\`${define}\` is handed on under another name, so what is made with it is not seen`;
  if (isRenamed) return [{ at, what: renamed }];
  if (name !== define || !isValue || !isCalled(at) || isDeclaredInFile(define, file)) return [];
  const what = `\`${define}\` is not imported, so this is no workflow`;
  return [{ at, what, hint: importIt }];
}

/** Whether a member of it is named here: `it.member`, `it["member"]`, `const { member } = it`. */
function isNamed(use: Node): boolean {
  const parent = use.getParent();
  if (Node.isPropertyAccessExpression(parent) || Node.isQualifiedName(parent)) return true;
  if (Node.isElementAccessExpression(parent))
    return Node.isStringLiteral(parent.getArgumentExpression());
  const pattern = Node.isVariableDeclaration(parent) ? parent.getNameNode() : undefined;
  if (!Node.isObjectBindingPattern(pattern)) return false;
  const isOpen = ({ dotDotDotToken, propertyName }: TypeScript.BindingElement) =>
    dotDotDotToken !== undefined || (propertyName && ts.isComputedPropertyName(propertyName));
  return !pattern.compilerNode.elements.some(isOpen);
}

/** `export { defineWorkflow as flow }`, also from another module. */
function isHandedOnRenamed(id: Identifier, imports: DefinitionFile["imports"]): boolean {
  const parent = id.getParent();
  if (!Node.isExportSpecifier(parent) || parent.getNameNode() !== id) return false;
  const isFromElsewhere = parent.getExportDeclaration().hasModuleSpecifier();
  const exported = parent.getAliasNode()?.getText() ?? parent.getName();
  const name = isFromElsewhere ? id.getText() : imports.get(id.getText())?.imported;
  return name === define && exported !== define;
}

/** `defineWorkflow<Input>` is a value. */
const isInType = (node: Node): boolean =>
  ts.findAncestor(
    node.compilerNode,
    (each) => ts.isTypeNode(each) && !ts.isExpressionWithTypeArguments(each),
  ) !== undefined;

/** Whether a member is taken: `stepwise.defineWorkflow`, `const { defineWorkflow } = stepwise`. */
function isTaken(id: Identifier): boolean {
  const parent = id.getParent();
  if (id.getText() !== define) return false;
  if (Node.isPropertyAccessExpression(parent)) return parent.getNameNode() === id;
  return Node.isBindingElement(parent) && parent.getInitializer() !== id;
}

export function reportUnseenChains(
  file: DefinitionFile,
  { locals }: FoundInFile,
  workflows: Workflows,
  isReported: boolean,
): void {
  let isContinued = false;
  for (const part of allBelow(file.source.compilerNode).filter(mayContinue)) {
    const owner = unwrap(wrapped(part.expression, file.source));
    const target = targetOf(owner, file);
    const found = target && workflows.lookUp(target).workflow;
    if (found === undefined || (Node.isIdentifier(owner) && locals.has(owner.getText()))) continue;
    isContinued = true;
    const whose = target?.module === undefined ? "under another name" : "of another file";
    const message = `the chain of ${quote(owner.getText())}, a workflow ${whose}, goes on here, with .${part.name.text}(…)`;
    file.report("computedChain", owner, message, writeOut);
  }
  if (isReported || isContinued) return;
  for (const call of callsIn(file.source, (each) => isUnseenNode(each, file.source))) {
    const callee = call.getExpression() as PropertyAccessExpression | ElementAccessExpression;
    const owner = unwrap(callee.getExpression());
    const isLocal = Node.isIdentifier(owner) && locals.has(owner.getText());
    if (isLocal || Node.isCallExpression(owner)) continue;
    const message = `this adds a node to ${quote(owner.getText())}, which the compiler does not see as a workflow`;
    file.report("computedChain", owner, message, writeOut);
    return;
  }
  for (const declaration of file.source.getVariableDeclarations()) {
    if (!declaration.hasExportKeyword() || locals.has(declaration.getName())) continue;
    const value = declaration.getInitializer();
    if (value === undefined || !isChain(value)) continue;
    const message = `${quote(declaration.getName())} looks like a workflow, but its chain does not begin with a call of \`defineWorkflow\`, so it is not seen`;
    file.report("misusedDefine", declaration.getNameNode(), message, writeOut);
  }
}

/** `base.step`, `flows.base.step`; not a node further down a chain. */
const mayContinue = (part: TypeScript.Node): part is TypeScript.PropertyAccessExpression =>
  ts.isPropertyAccessExpression(part) &&
  nodeKinds.has(part.name.text) &&
  !ts.isCallExpression(part.expression);

/** `base.step("name", { query })` or `base["step"](…)` where no body of a node is. */
function isUnseenNode(call: TypeScript.CallExpression, source: SourceFile): boolean {
  const callee = call.expression;
  const isMember = ts.isPropertyAccessExpression(callee) || ts.isElementAccessExpression(callee);
  if (!isMember || ts.isCallExpression(callee.expression)) return false;
  const name = ts.isPropertyAccessExpression(callee) ? callee.name : callee.argumentExpression;
  const isKind =
    (ts.isIdentifier(name) || ts.isStringLiteralLike(name)) && nodeKinds.has(name.text);
  const options = call.arguments.at(-1);
  if (!isKind || options === undefined || !ts.isObjectLiteralExpression(options)) return false;
  const names = options.properties.map((property) => property.name?.getText() ?? "");
  if (!names.some((each) => TELLING.has(each))) return false;
  const around = ts.findAncestor(call, ts.isFunctionLike);
  if (around === undefined) return true;
  const taken = around.parameters.flatMap((each) => boundNames(each.name));
  return taken.includes(callee.expression.getText()) && isOnlyCalled(around, source);
}

/** Whether a function is one that the file itself calls, and no body or case of a node. */
function isOnlyCalled(fn: TypeScript.SignatureDeclaration, source: SourceFile): boolean {
  const { parent } = fn;
  if (ts.isCallExpression(parent)) return !nodeKinds.has(calleeName(parent) ?? "");
  const named = ts.isVariableDeclaration(parent) ? parent : fn;
  const name = ts.isMethodDeclaration(named) ? undefined : named.name;
  const uses = name !== undefined && ts.isIdentifier(name) ? usesOf(name.text, source) : [];
  return uses.length > 0 && uses.every(isCalled);
}

/** Options that one kind of node or another has, and that hardly anything else has. */
const TELLING = new Set(["query", "mutation", "action", "children", "schema", "on", "body"]);

/** Whether an expression ends as a chain of nodes does: `… .step("name", …)`. */
function isChain(value: Node): boolean {
  const call = unwrap(value);
  if (!Node.isCallExpression(call)) return false;
  const callee = call.getExpression();
  if (!Node.isPropertyAccessExpression(callee) || !nodeKinds.has(callee.getName())) return false;
  const [first, second] = call.getArguments();
  return callee.getName() === "finalize"
    ? Node.isObjectLiteralExpression(first)
    : Node.isStringLiteral(first) && second !== undefined;
}
