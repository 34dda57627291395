import { type Node, ts, type TypeScript } from "../typescript.js";
import type { AppModules, Declared, Module } from "./app-modules.js";
import { functionNamed, isConst, isFreeze, isMember, keyText, type Member } from "./functions.js";
import { returnedBy, wrappedIn } from "./functions.js";
import { boundNames, declarationsOf, hasModifier, isHidden } from "./scoping.js";

/** Members of members, and consts of consts. One that is defined by itself stands for nothing. */
const maxLinks = 30;

/** Gives the text of a computed name of a member; undefined if it is not known. */
type TextOf = (name: Declared) => string | undefined;

/**
 * What an expression stands for: through consts, patterns, members and files of the app.
 * Undefined for what may change, or is not found.
 */
export class Holders {
  /** @param modules the other files; without them only what the file itself declares is found */
  constructor(
    private readonly modules: AppModules | undefined,
    private readonly textOf: TextOf,
  ) {}

  held(of: Declared | undefined, links = 0): Declared | undefined {
    if (of === undefined || links > maxLinks) return undefined;
    const { node, module } = of;
    const inner = wrappedIn(node) ?? (isFreeze(node) ? node.arguments[0] : undefined);
    if (inner !== undefined) return this.held({ node: inner, module }, links + 1);
    if (ts.isIdentifier(node)) {
      if (isHidden(node)) return undefined;
      const found =
        this.modules === undefined
          ? declaredIn(module, node.text)
          : this.modules.find(node.text, module);
      return this.#constant(found, node.text, links);
    }
    if (ts.isQualifiedName(node))
      return this.#memberOf({ node: node.left, module }, node.right.text, links);
    if (!isMember(node)) return of;
    const name = this.#nameOf(node, module);
    if (name === undefined || node.questionDotToken !== undefined) return undefined;
    return this.#memberOf({ node: node.expression, module }, name, links);
  }

  /** What an expression has under a name: also a whole module that is imported. */
  #memberOf(owner: Declared, name: string, links: number): Declared | undefined {
    const exported = this.modules?.member(name, owner.node, owner.module);
    if (exported !== undefined) return this.#constant(exported, name, links);
    return this.member(this.held(owner, links + 1), name, links);
  }

  /** What an object, a list, an enum, a class or a namespace has under a name. */
  member(owner: Declared | undefined, name: string, links: number): Declared | undefined {
    if (owner === undefined) return undefined;
    const { node: whole, module, without } = owner;
    if (without?.includes(name)) return undefined;
    const further = (node: Node | undefined) => node && this.held({ node, module }, links + 1);
    if (ts.isArrayLiteralExpression(whole)) {
      const at = whole.elements.findIndex(ts.isSpreadElement);
      const element = whole.elements[Number(name)];
      return at === -1 || Number(name) < at ? further(element) : undefined;
    }
    const isIt = (each: { readonly name?: TypeScript.Node | undefined }) =>
      each.name !== undefined && this.#keyOf(each.name, module) === name;
    if (ts.isEnumDeclaration(whole)) return further(whole.members.find(isIt));
    if (ts.isClassLike(whole)) {
      const own = whole.members.find(
        (each) => isIt(each) && hasModifier(each, ts.SyntaxKind.StaticKeyword),
      );
      return further(own && valueOf(own));
    }
    if (ts.isModuleDeclaration(whole)) {
      const inside = whole.body && ts.isModuleBlock(whole.body) ? whole.body.statements : [];
      const [, own] = inside.flatMap(declarationsOf).find(([each]) => each === name) ?? [];
      if (own === undefined || !ts.isVariableDeclaration(own)) return further(own);
      return isConst(own) ? further(own.initializer) : undefined;
    }
    if (!ts.isObjectLiteralExpression(whole)) return undefined;
    for (const property of whole.properties.toReversed()) {
      if (!ts.isSpreadAssignment(property)) {
        if (isIt(property)) return further(valueOf(property));
        // A computed name may be any.
        if (this.#keyOf(property.name, module) === undefined) return undefined;
        continue;
      }
      const exported = this.modules?.member(name, property.expression, module);
      if (exported !== undefined) return this.#constant(exported, name, links);
      const spread = this.held({ node: property.expression, module }, links + 1);
      const found = this.member(spread, name, links + 1);
      // What is not in it is before it, if all of it is seen.
      if (found !== undefined || !isPlain(spread?.node)) return found;
    }
    return undefined;
  }

  #keyOf(name: Node, module: Module): string | undefined {
    return keyText(name, (node) => this.textOf({ node, module }));
  }

  #nameOf(node: Member, module: Module): string | undefined {
    if (ts.isPropertyAccessExpression(node)) return node.name.text;
    return this.textOf({ node: node.argumentExpression, module });
  }

  /** What a declared name is, unless it may change: by itself, or in a pattern. */
  #constant(found: Declared | undefined, name: string, links: number): Declared | undefined {
    const declaration = found?.node.parent;
    if (found === undefined || declaration === undefined) return undefined;
    if (ts.isFunctionDeclaration(found.node)) {
      const isIt = functionNamed(found.node.name?.text ?? "", found.module) === found.node;
      return isIt ? found : undefined;
    }
    if (!ts.isVariableDeclaration(declaration) || declaration.initializer !== found.node)
      return this.held(found, links + 1);
    if (!isConst(declaration)) return undefined;
    const { name: pattern } = declaration;
    return ts.isIdentifier(pattern)
      ? this.held(found, links + 1)
      : this.#taken(pattern, found, name, links);
  }

  /** What a pattern takes under a name: `const { a, b: { c } } = held`, `const [d] = list`. */
  #taken(
    pattern: TypeScript.BindingPattern,
    from: Declared,
    name: string,
    links: number,
  ): Declared | undefined {
    const isIt = (each: TypeScript.ArrayBindingElement): each is TypeScript.BindingElement =>
      ts.isBindingElement(each) && boundNames(each.name).includes(name);
    const at = pattern.elements.findIndex(isIt);
    const element = pattern.elements[at];
    if (element === undefined || !ts.isBindingElement(element)) return undefined;
    const { propertyName: key = element.name } = element;
    if (element.dotDotDotToken !== undefined) return this.#rest(pattern, from, links);
    const isOfObject = ts.isObjectBindingPattern(pattern);
    const taken = isOfObject ? this.#keyOf(key, from.module) : String(at);
    const member = taken === undefined ? undefined : this.#memberOf(from, taken, links + 1);
    if (member === undefined || ts.isIdentifier(element.name)) return member;
    return this.#taken(element.name, member, name, links + 1);
  }

  /** What a pattern of an object leaves. */
  #rest(pattern: TypeScript.BindingPattern, from: Declared, links: number): Declared | undefined {
    const held = this.held(from, links + 1);
    if (held === undefined || !ts.isObjectBindingPattern(pattern)) return undefined;
    const without = [...(held.without ?? [])];
    for (const { name, propertyName = name, dotDotDotToken } of pattern.elements) {
      if (dotDotDotToken !== undefined) continue;
      const key = this.#keyOf(propertyName, from.module);
      if (key === undefined) return undefined;
      without.push(key);
    }
    return { ...held, without };
  }
}

function declaredIn(module: Module, name: string): Declared | undefined {
  const node = module.declared(name);
  return node && { node, module };
}

/** What a property holds: also what its getter returns. */
function valueOf(property: TypeScript.ObjectLiteralElementLike | TypeScript.ClassElement) {
  if (ts.isPropertyAssignment(property) || ts.isPropertyDeclaration(property))
    return property.initializer;
  if (ts.isShorthandPropertyAssignment(property)) return property.name;
  if (ts.isMethodDeclaration(property)) return property;
  return ts.isGetAccessorDeclaration(property) ? returnedBy(property) : undefined;
}

const isPlain = (node: Node | undefined): boolean =>
  node !== undefined &&
  ts.isObjectLiteralExpression(node) &&
  node.properties.every((each) => each.name !== undefined && !ts.isComputedPropertyName(each.name));
