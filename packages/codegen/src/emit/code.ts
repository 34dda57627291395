import type { z } from "zod";

/** A string literal, with the quotes that Prettier would choose. */
export function quoted(text: string): string {
  const json = JSON.stringify(text).replace(/[\u2028\u2029]/g, escaped);
  if (!text.includes('"') || text.split('"').length <= text.split("'").length) return json;
  return `'${json.slice(1, -1).replaceAll('\\"', '"').replaceAll("'", "\\'")}'`;
}

/** Text for the inside of a comment: one line, and nothing in it ends the comment. */
export const commentText = (text: string): string =>
  text.replace(/[\p{Cc}\u2028\u2029]/gu, escaped).replaceAll("*/", "*\\/");

const escaped = (unit: string): string => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`;

export const list = (items: readonly string[]): string => `[${items.join(", ")}]`;

export const object = (properties: readonly string[]): string =>
  properties.length === 0 ? "{}" : `{ ${properties.join(", ")} }`;

/** An object with each property on a line of its own, even if they would fit on one. */
export const openObject = (properties: readonly string[]): string =>
  properties.length === 0 ? "{}" : `{\n${properties.join(",\n")}\n}`;

/** A property that holds a list or an object, unless that is empty. */
export const unlessEmpty = (
  key: string,
  write: (parts: readonly string[]) => string,
  parts: readonly string[],
): string[] => (parts.length === 0 ? [] : [property(key, write(parts))]);

export const property = (key: string, value: string): string =>
  `${/^[A-Za-z_$][\w$]*$/.test(key) ? key : quoted(key)}: ${value}`;

export const memberOf = (owner: string, name: string): string =>
  /^[A-Za-z_$][\w$]*$/.test(name) ? `${owner}.${name}` : `${owner}[${quoted(name)}]`;

export function literal(value: z.core.util.JSONType): string {
  if (typeof value === "string") return quoted(value);
  if (Array.isArray(value)) return list(value.map(literal));
  if (typeof value !== "object" || value === null) return String(value);
  return object(Object.entries(value).map(([key, field]) => property(key, literal(field))));
}

export const commented = (comment: string, code: string): string =>
  `/** ${commentText(comment)} */\n${code}`;

export const exportedConst = (name: string, type: string, value: string): string =>
  laidOut(`export const ${name}: ${type} = ${value};`);

/** Prettier's default. Running Prettier itself would cost eight times as much as generating. */
const width = 80;

/**
 * Lays out a declaration or an expression that is written on one line, as Prettier would. Only the
 * forms that generated code consists of are known. An object that a line end opens stays open.
 *
 * @param margin what the lines of the code begin with
 * @param column where its first line begins
 * @param behind how many characters follow on its last line
 */
export function laidOut(code: string, margin = "", column = margin.length, behind = 0): string {
  const fits = !code.includes("\n") && column + code.length + behind <= width;
  return fits ? code : broken(code, margin, column, behind);
}

/** `const name =`, `return` or `name:`, and the value after it. */
const assignment =
  /^((?:export )?const [^=]*=|return|(?:[\w$]+|"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'):) ([^]*)$/;
const arrow = /^\([^()]*\) =>/;
/** A call that Prettier does not break inside. */
const shortCall = /^[\w$.]+\((["'][^"']{0,18}["']|[\w$]{1,20})?\);?$/;

function broken(code: string, margin: string, column: number, behind: number): string {
  const inside = `${margin}  `;
  const [, lead, value = ""] = assignment.exec(code) ?? [];
  if (lead !== undefined) {
    const isWhole = /^["']/.test(value) || shortCall.test(value);
    const beginning = isWhole ? value.length + behind : value.search(/[([{]|$/) + 1;
    if (lead === "return" || column + lead.length + 1 + beginning <= width)
      return `${lead} ${laidOut(value, margin, column + lead.length + 1, behind)}`;
    return `${lead}\n${inside}${laidOut(value, inside, inside.length, behind)}`;
  }
  const [parameters] = arrow.exec(code) ?? [];
  if (parameters !== undefined) {
    const body = code.slice(parameters.length + 1);
    const lead = `${parameters} `;
    if (body.startsWith("[")) return lead + broken(body, margin, column + lead.length, behind);
    return `${parameters}\n${inside}${laidOut(body, inside, inside.length, behind)}`;
  }
  const isPath = /^["']/.test(code) || path.test(code);
  const called = callee.exec(code)?.[0].length ?? code.search(/[([{]/);
  const bracket = isPath ? -1 : called;
  if (bracket < 0) return members(code, inside, column, behind);
  const head = code.slice(0, bracket + 1);
  const { items, end } = itemsOf(code, bracket + 1);
  const last = items.at(-1) ?? "";
  const leading = items.slice(0, -1).map((item) => `${item}, `);
  const before = head + leading.join("");
  const [opening] = arrow.exec(last) ?? [last[0] ?? ""];
  // The last argument may open on the line of the call.
  const mayHug = code[bracket] === "(" && isHuggable(last) && items.at(-2)?.[0] !== last[0];
  if (mayHug && !before.includes("\n") && column + before.length + opening.length <= width) {
    const comma = arrow.test(last) ? `,\n${margin}` : "";
    return `${before}${broken(last, margin, column, 1)}${comma}${code.slice(end)}`;
  }
  const lines = items.map((item) => `${inside}${laidOut(item, inside, inside.length, 1)},\n`);
  return `${head}\n${lines.join("")}${margin}${code.slice(end)}`;
}

/** `a.b["c"].d`, and each name of it with the keys in brackets after it. */
const key = String.raw`\[(?:"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')\]`;
const names = String.raw`^[\w$]+(?:\.[\w$]+|${key})*`;
const path = new RegExp(`${names}$`);
/** What is called: a bracket inside it opens no list. */
const callee = new RegExp(String.raw`${names}(?=\()`);
const pathPart = new RegExp(String.raw`\.?[\w$]+(?:${key})*`, "g");

const isHuggable = (argument: string): boolean =>
  arrow.test(argument) || (/^[[{]/.test(argument) && argument.length > 2);

/** `a.b.c`, with a line end wherever the next name does not fit. */
function members(code: string, inside: string, column: number, behind: number): string {
  if (!path.test(code)) return code;
  const [first = "", ...rest] = code.match(pathPart) ?? [];
  let text = first;
  let at = column + first.length;
  for (const [index, name] of rest.entries()) {
    const room = index + 1 < rest.length ? 0 : behind;
    if (at + name.length + room > width) {
      text += `\n${inside}`;
      at = inside.length;
    }
    text += name;
    at += name.length;
  }
  return text;
}

function itemsOf(code: string, from: number): { items: string[]; end: number } {
  const items: string[] = [];
  const token = /(["'])(?:[^"'\\]|\\.|(?!\1)["'])*\1|[([{]|[)\]}]|,/g;
  token.lastIndex = from;
  let begin = from;
  let depth = 0;
  for (let found = token.exec(code); found !== null; found = token.exec(code)) {
    if (/^[([{]/.test(found[0])) depth++;
    const isEnd = /^[)\]}]/.test(found[0]) && depth-- === 0;
    if (!isEnd && (found[0] !== "," || depth > 0)) continue;
    const item = code.slice(begin, found.index).trim();
    if (item !== "") items.push(item);
    begin = found.index + 1;
    if (isEnd) return { items, end: found.index };
  }
  return { items, end: code.length };
}
