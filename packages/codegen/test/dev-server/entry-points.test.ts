import { afterAll, beforeAll, expect, test } from "vitest";
import { findEntryPoints } from "../../src/dev-server/bundle.js";
import { type TestApp, writeApp } from "./app.js";

const MODULE = "export const x = 1;\n";

let app: TestApp;
beforeAll(async () => {
  app = await writeApp({
    "tasks.ts": MODULE,
    "deep/er/tasks.js": MODULE,
    "view.tsx": MODULE,
    "notes.md": "# no module",
    "documents.workflow.ts": MODULE,
    "tasks.test.ts": MODULE,
    "convex.config.ts": MODULE,
    "schema.ts": MODULE,
    "deep/schema.ts": MODULE,
    "_generated/api.js": MODULE,
    "_workflows/greet.ts": MODULE,
    ".hidden.ts": MODULE,
    "#emacs.ts": MODULE,
    "with space.ts": MODULE,
    "empty.ts": "// nothing to see\n",
    "node.ts": '"use node";\n' + MODULE,
    "commentedNode.ts": '// Runs in Node.\n/* For the\n   crypto. */\n"use node";\n' + MODULE,
    "manyComments.ts": "/* a */".repeat(60) + "\n" + MODULE,
    "manyCommentsNode.ts": "/* a */\n// b\n".repeat(60) + '"use strict";\n"use node";\n' + MODULE,
    "saysNode.ts": MODULE + '// "use node"\n',
    "billing/convex.config.ts": MODULE,
    "billing/ledger.ts": MODULE,
  });
});
afterAll(async () => await app.remove());

test("modules that Convex would deploy are found, told apart by their runtime", async () => {
  const { isolate, node } = await findEntryPoints(app.functionsDir);
  expect(node.sort()).toEqual(["commentedNode.ts", "manyCommentsNode.ts", "node.ts"]);
  expect(isolate.sort()).toEqual([
    "_workflows/greet.ts",
    "deep/er/tasks.js",
    "manyComments.ts",
    "saysNode.ts",
    "tasks.ts",
    "view.tsx",
  ]);
});

test("definitions, tests, configs, generated code and the folders of components are none", async () => {
  const { isolate, node } = await findEntryPoints(app.functionsDir);
  const found = [...isolate, ...node].join("\n");
  for (const file of ["workflow.ts", ".test.", "config", "_generated", "billing", "empty"]) {
    expect(found).not.toContain(file);
  }
});

test("only the schema of the folder itself is the app's", async () => {
  expect((await findEntryPoints(app.functionsDir)).schema).toBe("schema.ts");
});
