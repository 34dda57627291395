import type { z } from "zod";

/* Names, texts and values as they are written in generated code. */

/** A string literal, with the quotes that Prettier would choose. */
export function quoted(text: string): string {
  const json = JSON.stringify(text).replace(/[\u2028\u2029]/g, escaped);
  if (text.split('"').length <= text.split("'").length) return json;
  return `'${json.slice(1, -1).replaceAll('\\"', '"').replaceAll("'", "\\'")}'`;
}

/** Text for the inside of a comment: one line, and nothing in it ends the comment. */
export const commentText = (text: string): string =>
  text.replace(/[\p{Cc}\u2028\u2029]/gu, escaped).replaceAll("*/", "*\\/");

const escaped = (unit: string): string => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`;

export const list = (items: readonly string[]): string => `[${items.join(", ")}]`;

export const strings = (texts: readonly string[]): string => list(texts.map(quoted));

export const object = (properties: readonly string[]): string =>
  properties.length === 0 ? "{}" : `{ ${properties.join(", ")} }`;

/** An object with each property on a line of its own, even if they would fit on one. */
export const openObject = (properties: readonly string[]): string =>
  properties.length === 0 ? "{}" : `{\n${properties.join(",\n")}\n}`;

export const property = (key: string, value: string): string =>
  `${/^[A-Za-z_$][\w$]*$/.test(key) ? key : quoted(key)}: ${value}`;

export function literal(value: z.core.util.JSONType): string {
  if (typeof value === "string") return quoted(value);
  if (Array.isArray(value)) return list(value.map(literal));
  if (typeof value !== "object" || value === null) return String(value);
  return object(Object.entries(value).map(([key, field]) => property(key, literal(field))));
}
