import { readFileSync } from "node:fs";

let version: string | undefined;

/** The version of this compiler, as its package says. Read without a library, as an unchanged app asks for it too. */
export function compilerVersion(): string {
  version ??= (
    JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8")) as {
      version: string;
    }
  ).version;
  return version;
}
