import type { Expression } from "../../plan/expression.js";
import { array, assignment, call, callHugging, object, propertyKey, string } from "./code.js";
import { choice, group, hardline, hasHardline, indent, join, type Doc } from "./doc.js";

/*
 * The rules by which Prettier lays out the expressions that schemas are made of. They look arbitrary because they are: each was
 * made for some piece of code that looked bad without it. The tests compare them with Prettier itself.
 */

/** What an expression may consist of when it is laid out anew. */
export type Plain = Exclude<Expression, { kind: "verbatim" }>;
type Call = Extract<Expression, { kind: "call" }>;

/** The name of an import in the generated file. */
export type LocalName = (imported: string) => string;

/** `lead value`, such as `const input = z.string()`, with the line end where Prettier puts it. */
export function assigned(lead: string, value: Expression, names: LocalName): Doc {
  return assignment(lead, layOut(value, names), breaksBefore(value));
}

export function layOut(expression: Expression, names: LocalName): Doc {
  const { kind } = expression;
  if (kind === "string") return string(expression.text);
  if (kind === "literal") return expression.text;
  if (kind === "import") return names(expression.name);
  if (kind === "member") return [layOut(expression.object, names), ".", expression.property];
  if (kind === "array") {
    return array(
      expression.items.map((item) => layOut(item, names)),
      holdsTable(expression.items),
    );
  }
  if (kind === "object") {
    const properties = expression.properties.map(({ key, value }): Doc => {
      const isShorthand =
        value.kind === "import"
          ? names(value.name) === key
          : value.kind === "literal" && value.text === key;
      if (isShorthand) return key;
      const lead = `${propertyKey(key)}:`;
      return lead.length <= 5 ? [lead, " ", layOut(value, names)] : assigned(lead, value, names);
    });
    return object(properties, expression.open);
  }
  if (kind === "call") {
    return expression.callee.kind === "member"
      ? chain(expression, names)
      : callOf(layOut(expression.callee, names), expression, names);
  }
  return "";
}

/** More than one list or object, each with more than one element, stand below each other. */
function holdsTable(items: readonly Expression[]): boolean {
  const [first] = items;
  if (items.length < 2 || first === undefined) return false;
  return items.every((item) => item.kind === first.kind && sizeOf(item) > 1);
}

function sizeOf(expression: Expression): number {
  if (expression.kind === "array") return expression.items.length;
  return expression.kind === "object" ? expression.properties.length : 0;
}

function callOf(callee: Doc, { args }: Call, names: LocalName): Doc {
  const docs = args.map((argument) => layOut(argument, names));
  const last = args.at(-1);
  const lastDoc = docs.at(-1);
  if (
    last === undefined ||
    lastDoc === undefined ||
    sizeOf(last) === 0 ||
    args.at(-2)?.kind === last.kind
  )
    return call(callee, docs);
  return callHugging(callee, docs.slice(0, -1), lastDoc);
}

interface Link {
  readonly kind: "start" | "member" | "call";
  readonly printed: Doc;
  readonly expression: Expression;
}

function linksOf(expression: Expression, names: LocalName): Link[] {
  if (expression.kind === "call") {
    return [
      ...linksOf(expression.callee, names),
      { kind: "call", printed: callOf("", expression, names), expression },
    ];
  }
  if (expression.kind === "member") {
    return [
      ...linksOf(expression.object, names),
      { kind: "member", printed: `.${expression.property}`, expression },
    ];
  }
  return [{ kind: "start", printed: layOut(expression, names), expression }];
}

/** The links of a chain as Prettier groups them: what it starts with, then each `.name(…)`. */
function groupsOf(links: readonly Link[]): Link[][] {
  let at = 1;
  while (links[at]?.kind === "call") at++;
  while (links[at]?.kind === "member" && links[at + 1]?.kind === "member") at++;
  const groups = [links.slice(0, at)];
  let current: Link[] = [];
  for (const link of links.slice(at)) {
    if (link.kind === "member" && current.some(({ kind }) => kind === "call")) {
      groups.push(current);
      current = [];
    }
    current.push(link);
  }
  if (current.length > 0) groups.push(current);
  return groups;
}

/** `schema.object({ … }).strict().optional()`: on one line, or one call on each. */
function chain(expression: Call, names: LocalName): Doc {
  const links = linksOf(expression, names);
  const groups = groupsOf(links);
  const printed = groups.map((each) => each.map((link) => link.printed));
  const merged = startsWithFactory(groups) ? 2 : 1;
  if (groups.length <= merged + 1) return group(printed);
  const expanded: Doc = [
    printed.slice(0, merged),
    indent([hardline, join(hardline, printed.slice(merged))]),
  ];
  const calls = links.flatMap(({ expression: each, kind }) =>
    kind === "call" && each.kind === "call" ? [each] : [],
  );
  const isComplex =
    calls.length > 2 && calls.some(({ args }) => args.some((argument) => !isSimple(argument)));
  if (isComplex || printed.slice(0, -1).some(hasHardline)) return group(expanded);
  return choice(printed, expanded);
}

/** `Schema.object(…)` and `_.object(…)` keep their first call beside them. */
function startsWithFactory(groups: readonly (readonly Link[])[]): boolean {
  const [first = []] = groups;
  const last = first.at(-1)?.expression;
  if (groups.length < 2 || last === undefined) return false;
  const name = last.kind === "member" ? last.property : nameOf(last);
  return name !== undefined && /^[A-Z]|^[$_]+$/.test(name);
}

function nameOf(expression: Expression): string | undefined {
  if (expression.kind === "import") return expression.name;
  return expression.kind === "literal" && /^[A-Za-z_$]/.test(expression.text)
    ? expression.text
    : undefined;
}

function isSimple(expression: Expression, depth = 2): boolean {
  if (depth <= 0) return false;
  const inner = (each: Expression) => isSimple(each, depth - 1);
  if (expression.kind === "literal" && expression.text.startsWith("/"))
    return regexLength(expression.text) <= 5;
  if (expression.kind === "array") return expression.items.every(inner);
  if (expression.kind === "object") return expression.properties.every(({ value }) => inner(value));
  if (expression.kind === "call") {
    return (
      isSimple(expression.callee, depth) &&
      expression.args.length <= depth &&
      expression.args.every(inner)
    );
  }
  return expression.kind === "member" ? isSimple(expression.object, depth) : true;
}

const regexLength = (text: string): number => text.slice(1, text.lastIndexOf("/")).length;

/** Whether a value goes to the next line as a whole when it does not fit, rather than being broken inside. */
function breaksBefore(value: Expression): boolean {
  if (value.kind === "string") return true;
  if (value.kind === "member") return isNames(value);
  return value.kind === "call" && isPoorlyBreakable(value);
}

function isNames(value: Expression): boolean {
  return value.kind === "member" ? isNames(value.object) : nameOf(value) !== undefined;
}

function isPoorlyBreakable(value: Expression): boolean {
  if (value.kind === "member") return isPoorlyBreakable(value.object);
  if (value.kind !== "call") return nameOf(value) !== undefined;
  const groups = groupsOf(linksOf(value, (name) => name));
  const isChain =
    value.callee.kind === "member" && groups.length > (startsWithFactory(groups) ? 3 : 2);
  const [only, second] = value.args;
  if (isChain || second !== undefined || (only !== undefined && !isShort(only))) return false;
  return isPoorlyBreakable(value.callee);
}

/** At most a quarter of the line. */
function isShort(argument: Expression): boolean {
  if (argument.kind === "string") return JSON.stringify(argument.text).length <= 20;
  if (argument.kind === "import") return argument.name.length <= 20;
  return argument.kind === "literal" && argument.text.length <= 20;
}
