import { type Node, ts, type TypeScript } from "../typescript.js";
import type { AppModules, Declared, Module } from "./app-modules.js";
import { knownValue } from "./known.js";
import type { DefinitionFile } from "./parser.js";
import { isHidden } from "./scoping.js";
import { moduleOf } from "./tokens.js";

/** The text of a name or a key: as it is written, or of a const, a const object or an enum. */
export function constantText(at: Node, file: DefinitionFile, modules: AppModules) {
  const known = knownValue(at, file);
  if (typeof known === "string" || typeof known === "number") return String(known);
  return new Constants(modules).text({ node: at, module: moduleOf(file) });
}

/** Members of members, and consts of consts. One that is defined by itself has no text. */
const maxLinks = 20;

class Constants {
  constructor(private readonly modules: AppModules) {}

  text(of: Declared | undefined, links = 0): string | undefined {
    const held = this.#held(of, links);
    if (held === undefined) return undefined;
    const { node } = held;
    if (ts.isStringLiteralLike(node)) return node.text;
    if (ts.isNumericLiteral(node)) return String(Number(node.text));
    return ts.isEnumMember(node) ? this.#memberText(node, held.module, links) : undefined;
  }

  /** Numbers of an enum count on from the member before. */
  #memberText(member: TypeScript.EnumMember, module: Module, links: number): string | undefined {
    const { initializer: node, parent } = member;
    if (node !== undefined) return this.text({ node, module }, links + 1);
    const before = parent.members[parent.members.indexOf(member) - 1];
    const text = before === undefined ? "-1" : this.#memberText(before, module, links + 1);
    return text === undefined || !/^-?\d+$/.test(text) ? undefined : String(Number(text) + 1);
  }

  /** What an expression stands for: through names, members and files. */
  #held(of: Declared | undefined, links: number): Declared | undefined {
    if (of === undefined || links > maxLinks) return undefined;
    const { node, module } = of;
    const further = (next: Declared | undefined) => this.#held(next, links + 1);
    if (
      ts.isParenthesizedExpression(node) ||
      ts.isAsExpression(node) ||
      ts.isSatisfiesExpression(node) ||
      ts.isNonNullExpression(node)
    )
      return further({ node: node.expression, module });
    if (ts.isIdentifier(node))
      return isHidden(node) ? undefined : further(constant(this.modules.find(node.text, module)));
    const name = memberName(node);
    if (
      name === undefined ||
      !(ts.isPropertyAccessExpression(node) || ts.isElementAccessExpression(node))
    )
      return of;
    const { expression } = node;
    const isName = ts.isIdentifier(expression) && !isHidden(expression);
    const exported = isName ? this.modules.member(name, expression.text, module) : undefined;
    if (exported !== undefined) return further(constant(exported));
    const owner = further({ node: expression, module });
    return owner && further(memberOf(owner, name));
  }
}

function memberName(node: TypeScript.Node): string | undefined {
  if (ts.isPropertyAccessExpression(node)) return node.name.text;
  if (!ts.isElementAccessExpression(node)) return undefined;
  const { argumentExpression: name } = node;
  return ts.isStringLiteralLike(name) || ts.isNumericLiteral(name) ? name.text : undefined;
}

/** What a const is, or an enum; undefined for what may change. */
function constant(found: Declared | undefined): Declared | undefined {
  const parent = found?.node.parent;
  if (parent === undefined || !ts.isVariableDeclaration(parent)) return found;
  const isConst = (parent.parent.flags & ts.NodeFlags.Const) !== 0;
  return isConst && ts.isIdentifier(parent.name) ? found : undefined;
}

function memberOf({ node, module }: Declared, name: string): Declared | undefined {
  const isIt = (member: { readonly name?: TypeScript.Node | undefined }) =>
    member.name !== undefined &&
    (ts.isIdentifier(member.name) ||
      ts.isStringLiteralLike(member.name) ||
      ts.isNumericLiteral(member.name)) &&
    member.name.text === name;
  if (ts.isEnumDeclaration(node)) {
    const member = node.members.find(isIt);
    return member && { node: member, module };
  }
  if (!ts.isObjectLiteralExpression(node)) return undefined;
  // A spread may have any of them.
  if (node.properties.some(ts.isSpreadAssignment)) return undefined;
  const member = node.properties.find(isIt);
  return member && ts.isPropertyAssignment(member)
    ? { node: member.initializer, module }
    : undefined;
}
