import { type Node, ts, type TypeScript } from "../typescript.js";
import { quote } from "../diagnostics/diagnostic.js";
import { hashOf } from "../plan/hash-of.js";
import { type AppModules, Module } from "./app-modules.js";
import { changersOf } from "./changers.js";
import { partsOf } from "./functions.js";
import { localNamesOf } from "./modules.js";
import type { DefinitionFile } from "./parser.js";
import { variableOf } from "./schema-parts.js";
import { boundNames, isReference } from "./scoping.js";
import { once } from "../plan/once.js";
import { allBelow } from "./descendants.js";

const scanner = ts.createScanner(ts.ScriptTarget.Latest, true);

/** The tokens of source, scanned over the bare tree: as nodes they take longer than parsing. */
function eachToken(
  whole: TypeScript.Node,
  { text }: TypeScript.SourceFile,
  add: (token: string) => void,
): void {
  let at = whole.pos;
  /** What stands between the nodes that have no others in them. */
  const scanTo = (end: number): void => {
    if (at === end) return;
    scanner.resetTokenState(at);
    while (scanner.scan() !== ts.SyntaxKind.EndOfFileToken && scanner.getTokenEnd() <= end)
      add(scanner.getTokenText());
  };
  scanner.setText(text);
  for (const node of isToken(whole) ? [whole] : allBelow(whole)) {
    if (!isToken(node)) continue;
    scanTo(node.pos);
    // A name without escapes, as most are, need not be cut out of the text.
    const isPlain = ts.isIdentifier(node) && text.endsWith(node.text, node.end);
    const own = isPlain ? node.text : ts.isStringLiteral(node) ? quote(node.text) : node.getText();
    if (own !== "") add(own);
    at = node.end;
  }
  scanTo(whole.end);
  // Not to hold on to the file.
  scanner.setText("");
}

const isToken = ({ kind }: TypeScript.Node): boolean => kind < ts.SyntaxKind.FirstNode;

const closing = new Set([")", "]", "}"]);

/** Adds tokens that no formatter changes: no trailing commas, double quotes, `(x) =>`. */
function addPlainTokens(
  plain: string[],
  whole: TypeScript.Node,
  source: TypeScript.SourceFile,
): void {
  let last: string | undefined;
  const addLast = (next: string): void => {
    if (last === undefined || last === ";" || (last === "," && closing.has(next))) return;
    if (next === "=>" && last !== ")") plain.push("(", last, ")");
    else plain.push(last);
  };
  eachToken(whole, source, (token) => {
    addLast(token);
    last = token;
  });
  addLast("");
}

export const moduleOf = once(({ file, source }: DefinitionFile) => new Module(file, source));

/** A hash of source and what it names; of what functions name only what their own file declares. */
export function sourceHash(nodes: readonly Node[], file: DefinitionFile) {
  return hashOfSource(nodes, moduleOf(file), file.modules);
}

/** The same of a schema, with what its functions name in other files too: they make schemas. */
export function schemaHash(schema: TypeScript.Node, module: Module, modules: AppModules): string {
  return hashOfSource([schema], module, modules, true);
}

function hashOfSource(
  nodes: readonly TypeScript.Node[],
  module: Module,
  modules: AppModules,
  isSchema = false,
): string {
  const named = new Map<TypeScript.Node, Module>();
  for (const node of nodes)
    if (!ts.isIdentifier(node) || isReference(node))
      addNamed(node, module, modules, named, isSchema);
  const tokens: string[] = [];
  for (const node of nodes) addPlainTokens(tokens, node, module.source);
  for (const [node, { source }] of named) addPlainTokens(tokens, node, source);
  return hashOf(tokens.join("\n"));
}

/**
 * Collects what the names in an expression stand for.
 * @param isSchema says whether imports that are named inside functions count
 */
function addNamed(
  whole: TypeScript.Node,
  module: Module,
  modules: AppModules,
  named: Map<TypeScript.Node, Module>,
  isSchema: boolean,
): void {
  const add = (found: ReturnType<AppModules["find"]>): void => {
    if (found === undefined || named.has(found.node) || holdsWorkflow(found.node, found.module))
      return;
    named.set(found.node, found.module);
    addNamed(found.node, found.module, modules, named, isSchema);
    const name = variableOf(found.node)?.name;
    if (name !== undefined) addChangers(name, found.module);
  };
  // Also what is imported may be changed here.
  const addChangers = (name: TypeScript.Node, of: Module): void => {
    for (const node of changersOf(name, of)) add({ node, module: of });
  };
  /** @param own the names that the functions around it take, in a function. */
  const visit = (part: TypeScript.Node, own?: ReadonlySet<string>): void => {
    if (ts.isTypeNode(part)) return;
    if (ts.isFunctionLike(part)) {
      const taken = part.parameters.flatMap(({ name }) => boundNames(name));
      const inside = new Set([...(own ?? []), ...taken]);
      ts.forEachChild(part, (child) => visit(child, inside));
    } else if (ts.isIdentifier(part)) {
      if (own?.has(part.text) === true) return;
      addChangers(part, module);
      if (own === undefined || isSchema) return add(modules.find(part.text, module));
      const node = module.declared(part.text);
      add(node && { node, module });
    } else if (ts.isPropertyAccessExpression(part) || ts.isQualifiedName(part)) {
      const [of = part, name = ""] = partsOf(part);
      const member = own === undefined || isSchema ? modules.member(name, of, module) : undefined;
      // Only what is used of a whole module counts.
      if (member === undefined) return visit(of, own);
      add(member);
      addChangers(of, module);
    } else if (ts.isPropertyAssignment(part)) {
      if (ts.isComputedPropertyName(part.name)) visit(part.name, own);
      visit(part.initializer, own);
    } else ts.forEachChild(part, (child) => visit(child, own));
  };
  visit(whole);
}

function holdsWorkflow({ pos, end }: TypeScript.Node, { source, imports }: Module): boolean {
  const text = source.text.slice(pos, end);
  const names = localNamesOf(imports, "defineWorkflow").add("defineWorkflow");
  return [...names].some((name) => text.includes(name));
}
