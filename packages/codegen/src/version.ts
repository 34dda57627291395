import { createRequire } from "node:module";

const require = createRequire(import.meta.url);

export const compilerVersion = (): string =>
  (require("../package.json") as { readonly version: string }).version;
