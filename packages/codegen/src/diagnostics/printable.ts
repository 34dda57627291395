/** Control characters, and those that reorder what is beside them. */
const unsafe = String.raw`(?![\t\n])\p{Cc}|[\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]`;
const control = new RegExp(unsafe, "gu");
/** The colors that this program paints with, which hide nothing, or an unsafe character. */
const paintOrControl = new RegExp(String.raw`(\u001b\[(?:[12]|22|3[1-6]|39)m)|${unsafe}`, "gu");

/** Returns a text that makes a terminal do nothing but show it. @param color keep its colors */
export function printable(text: string, color = false): string {
  const lines = text.replaceAll("\r\n", "\n");
  if (!color) return lines.replace(control, "\ufffd");
  return lines.replace(paintOrControl, (_, paint?: string) => paint ?? "\ufffd");
}

/** Returns a text with the unsafe characters replaced, for a format that has escapes of its own. */
export const escapedWith = (escape: (code: number) => string, text: string): string =>
  text.replace(control, (each) => escape(each.charCodeAt(0)));

/** Returns a value as JSON that is as safe to print; it has the same meaning. */
export const printableJson = (value: unknown): string =>
  escapedWith(
    (code) => `\\u${code.toString(16).padStart(4, "0")}`,
    JSON.stringify(value, undefined, 2),
  );
