import { readFileSync } from "node:fs";

const manifest = new URL("../package.json", import.meta.url);
let version: string | undefined;

export const compilerVersion = (): string =>
  (version ??= (JSON.parse(readFileSync(manifest, "utf8")) as { version: string }).version);
