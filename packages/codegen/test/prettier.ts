import { check, format } from "prettier";

/** Prettier as a project without any settings runs it. */
const defaults = { printWidth: 80, parser: "typescript" } as const;

export function isFormatted(text: string, path: string): Promise<boolean> {
  return check(text, { ...defaults, parser: path.endsWith(".json") ? "json" : "typescript" });
}

export function formatted(text: string): Promise<string> {
  return format(text, defaults);
}
