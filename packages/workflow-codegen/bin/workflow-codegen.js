#!/usr/bin/env node
// Starts the command of @stepwise/codegen: the app's own one, or else the one that came with this.
import { createRequire } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const name = "@stepwise/codegen/package.json";

function manifest() {
  try {
    return createRequire(join(process.cwd(), "package.json")).resolve(name);
  } catch {
    return createRequire(import.meta.url).resolve(name);
  }
}

await import(new URL("./bin/workflow-codegen.js", pathToFileURL(manifest())).href);
