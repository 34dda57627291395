import { type Node, ts, type TypeScript } from "../typescript.js";
import { quote } from "../diagnostics/diagnostic.js";
import { hashOf } from "../plan/write.js";
import { type AppModules, Module } from "./app-modules.js";
import { localNamesOf } from "./modules.js";
import type { DefinitionFile } from "./parser.js";
import { boundNames, isReference } from "./scoping.js";
import { once } from "../plan/once.js";
import { childrenOf } from "./descendants.js";

const scanner = ts.createScanner(ts.ScriptTarget.Latest, true);

/** The tokens of source, scanned over the bare tree: as nodes they take longer than parsing. */
function tokensOf(whole: TypeScript.Node, source: TypeScript.SourceFile): string[] {
  const tokens: string[] = [];
  const scan = (from: number, to: number): void => {
    if (from === to) return;
    scanner.resetTokenState(from);
    while (scanner.scan() !== ts.SyntaxKind.EndOfFileToken && scanner.getTokenEnd() <= to)
      tokens.push(scanner.getTokenText());
  };
  // What stands between the children of a node is put between them.
  const waiting: (TypeScript.Node | readonly [from: number, to: number])[] = [whole];
  const open = (part: TypeScript.Node): void => {
    const inside: typeof waiting = [];
    let at = part.pos;
    for (const child of childrenOf(part)) {
      inside.push([at, child.pos], child);
      at = child.end;
    }
    waiting.push(...inside.concat([[at, part.end]]).reverse());
  };
  scanner.setText(source.text);
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    if (!("kind" in next)) scan(...next);
    else if (next.kind >= ts.SyntaxKind.FirstNode) open(next);
    else {
      const text = ts.isStringLiteral(next) ? quote(next.text) : next.getText(source);
      if (text !== "") tokens.push(text);
    }
  }
  // Not to hold on to the file.
  scanner.setText("");
  return tokens;
}

const closing = new Set([")", "]", "}"]);

/** Tokens that no formatter changes: no trailing commas, double quotes, `(x) =>`. */
function plainTokens(whole: TypeScript.Node, source: TypeScript.SourceFile): string[] {
  const all = tokensOf(whole, source);
  const plain: string[] = [];
  for (const [at, token] of all.entries()) {
    const next = all[at + 1] ?? "";
    if (token === ";" || (token === "," && closing.has(next))) continue;
    if (next === "=>" && token !== ")") plain.push("(", token, ")");
    else plain.push(token);
  }
  return plain;
}

export const moduleOf = once(
  ({ file, source, imports }: DefinitionFile) => new Module(file, source, imports),
);

/** A hash of source and what it names; of what functions name only what their own file declares. */
export function sourceHash(nodes: readonly Node[], file: DefinitionFile) {
  return hashOfSource(nodes, moduleOf(file), file.modules);
}

export function hashOfSource(
  nodes: readonly TypeScript.Node[],
  module: Module,
  modules: AppModules,
): string {
  const named = new Map<TypeScript.Node, Module>();
  for (const node of nodes)
    if (!ts.isIdentifier(node) || isReference(node)) addNamed(node, module, modules, named);
  const tokens = [
    ...nodes.flatMap((node) => plainTokens(node, module.source)),
    ...[...named].flatMap(([node, { source }]) => plainTokens(node, source)),
  ];
  return hashOf(tokens.join("\n"));
}

/** Collects what the names in an expression stand for, but for imports inside functions. */
function addNamed(
  whole: TypeScript.Node,
  module: Module,
  modules: AppModules,
  named: Map<TypeScript.Node, Module>,
): void {
  const add = (found: ReturnType<AppModules["find"]>): void => {
    if (found === undefined || named.has(found.node) || holdsWorkflow(found.node, found.module))
      return;
    named.set(found.node, found.module);
    addNamed(found.node, found.module, modules, named);
  };
  /** @param own the names that the functions around it take, in a function. */
  const visit = (part: TypeScript.Node, own?: ReadonlySet<string>): void => {
    if (ts.isTypeNode(part)) return;
    if (ts.isFunctionLike(part)) {
      const taken = part.parameters.flatMap(({ name }) => boundNames(name));
      const inside = new Set([...(own ?? []), ...taken]);
      ts.forEachChild(part, (child) => visit(child, inside));
    } else if (ts.isIdentifier(part)) {
      if (own === undefined) return add(modules.find(part.text, module));
      const node = own.has(part.text) ? undefined : module.declared(part.text);
      add(node && { node, module });
    } else if (ts.isPropertyAccessExpression(part)) {
      const { expression, name } = part;
      if (own === undefined) add(modules.member(name.text, expression, module));
      visit(expression, own);
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
