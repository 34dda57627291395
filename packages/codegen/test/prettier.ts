import { check, format } from "prettier";

/** Prettier as a project without any settings runs it. */
const defaults = { printWidth: 80, parser: "typescript" } as const;

export async function isFormatted(text: string, path: string): Promise<boolean> {
  // Prettier has nothing to say of a file of settings.
  if (path.endsWith(".gitattributes")) return true;
  return await check(text, { ...defaults, parser: path.endsWith(".json") ? "json" : "typescript" });
}

export function formatted(text: string): Promise<string> {
  return format(text, defaults);
}
