import { readFileSync } from "node:fs";

let version: string | undefined;

/** The version of this compiler, as its package says. Without a library: the way on which nothing is loaded asks for it too. */
export function compilerVersion(): string {
  version ??= read();
  return version;
}

function read(): string {
  const manifest = readFileSync(new URL("../package.json", import.meta.url), "utf8");
  return (JSON.parse(manifest) as { version: string }).version;
}
