import type { MethodDeclaration, ObjectLiteralExpression } from "ts-morph";
import type { z } from "zod";
import { Node, SyntaxKind } from "../ts-morph.js";
import type { Place } from "../diagnostics/diagnostic.js";
import type { Policy } from "../plan/schema.js";
import type { DefinitionFile } from "./definition-file.js";
import { constantOf, unwrap } from "./functions.js";
import { objectOf } from "./held-options.js";

type Json = z.core.util.JSONType;

/** One property of an options object. */
export interface Option {
  readonly name: string;
  readonly nameNode: Node;
  /** Its value; a method is its own. */
  readonly value: Node;
}

/** The properties of an options object, in the order written. */
export type Options = ReadonlyMap<string, Option>;

/**
 * Reads an object of options that is written out, here or as a const of the file. Reports it, and gives undefined, when it is not: what
 * a node does would only be known when it runs.
 *
 * @param of what it belongs to, for messages: `step "save"`
 */
export function readOptions(
  argument: Node | undefined,
  at: Node,
  of: string,
  file: DefinitionFile,
): Options | undefined {
  const literal = argument === undefined ? undefined : objectOf(argument, file);
  if (literal === undefined) {
    reportUnreadable(argument ?? at, of, file);
    return undefined;
  }
  const options = new Map<string, Option>();
  const unread = literal.getProperties().find((property) => {
    const option = readOption(property);
    if (option !== undefined) options.set(option.name, option);
    return option === undefined;
  });
  if (unread === undefined) return options;
  file.report(
    "unreadableOptions",
    unread,
    `the options of ${of} hold something that is only known when it runs`,
    {
      hint: "write every option as `name: value`, without spread, computed names or accessors",
    },
  );
  return undefined;
}

function reportUnreadable(at: Node, of: string, file: DefinitionFile): void {
  const isHeld =
    Node.isIdentifier(at) && Node.isObjectLiteralExpression(constantOf(at.getText(), file));
  const what = isHeld
    ? "are a const that something else may change"
    : "are not written out as an object";
  file.report("unreadableOptions", at, `the options of ${of} ${what}`, {
    hint: isHeld
      ? `use ${at.getText()} as the options of nodes only, or write \`{ … }\` here`
      : "write `{ … }` here, or a const of this file that is `{ … }`, with every option in it",
  });
}

function readOption(
  property: ReturnType<ObjectLiteralExpression["getProperties"]>[number],
): Option | undefined {
  if (Node.isShorthandPropertyAssignment(property)) {
    return {
      name: property.getName(),
      nameNode: property.getNameNode(),
      value: property.getNameNode(),
    };
  }
  if (!Node.isPropertyAssignment(property) && !Node.isMethodDeclaration(property)) return undefined;
  const nameNode = property.getNameNode();
  const name = optionName(nameNode);
  const value = Node.isMethodDeclaration(property) ? callable(property) : property.getInitializer();
  return name === undefined || value === undefined ? undefined : { name, nameNode, value };
}

function optionName(node: Node): string | undefined {
  if (Node.isIdentifier(node)) return node.getText();
  return Node.isStringLiteral(node) ? node.getLiteralText() : undefined;
}

/** A generator is no handler. */
function callable(method: MethodDeclaration): Node | undefined {
  return method.isGenerator() ? undefined : method;
}

/** Those of the named options that are literals, as values. */
export function literalOptions(options: Options, names: readonly string[]): Record<string, Json> {
  const literals: Record<string, Json> = {};
  for (const name of names) {
    const option = options.get(name);
    const value = option === undefined ? undefined : literalValue(option.value);
    if (value !== undefined) literals[name] = value;
  }
  return literals;
}

/** How the stage of a node's options is run. */
export function policyOf(options: Options, file: DefinitionFile): Policy {
  const names = ["retry", "timeout", "isolate"];
  const values = literalOptions(options, names);
  const computed = names.filter((name) => options.has(name) && !(name in values));
  return { values, computed, places: placesOf(options, file) };
}

/** Where each option stands. */
export function placesOf(options: Options | undefined, file: DefinitionFile): Map<string, Place> {
  return new Map(
    [...(options?.values() ?? [])].map(({ name, nameNode }) => [name, file.placeOf(nameNode)]),
  );
}

/** The value of a literal, of an object of literals; undefined of anything else. */
export function literalValue(value: Node): Json | undefined {
  const node = unwrap(value);
  if (Node.isStringLiteral(node) || Node.isNoSubstitutionTemplateLiteral(node))
    return node.getLiteralText();
  if (Node.isNumericLiteral(node)) return node.getLiteralValue();
  if (Node.isPrefixUnaryExpression(node) && node.getOperatorToken() === SyntaxKind.MinusToken) {
    const operand = literalValue(node.getOperand());
    return typeof operand === "number" ? -operand : undefined;
  }
  if (Node.isTrueLiteral(node)) return true;
  if (Node.isFalseLiteral(node)) return false;
  if (!Node.isObjectLiteralExpression(node)) return undefined;
  const fields: Record<string, Json> = {};
  for (const property of node.getProperties()) {
    const field = readOption(property);
    const inner = field === undefined ? undefined : literalValue(field.value);
    if (field === undefined || inner === undefined) return undefined;
    fields[field.name] = inner;
  }
  return fields;
}
