/** Text that comes from outside, made safe to stand in generated code. */

/** A string literal, with the quotes that Prettier would choose. */
export function quoted(text: string): string {
  const json = escapeLineSeparators(JSON.stringify(text));
  const doubles = text.split('"').length;
  const singles = text.split("'").length;
  if (doubles <= singles) return json;
  return `'${json.slice(1, -1).replaceAll('\\"', '"').replaceAll("'", "\\'")}'`;
}

/** Text for the inside of a comment: one line, and nothing in it ends the comment. */
export function commentText(text: string): string {
  const oneLine = text.replace(/[\p{Cc}\u2028\u2029]/gu, escapeUnit);
  return oneLine.replaceAll("*/", "*\\/");
}

function escapeLineSeparators(text: string): string {
  return text.replace(/[\u2028\u2029]/g, escapeUnit);
}

function escapeUnit(unit: string): string {
  return `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`;
}
