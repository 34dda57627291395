// Draws the first workflow of each example as graph.svg, with the component that apps use, and
// shows the definition in its README. Also writes the graph that the page of examples/approval
// shows. Takes --check.
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { format } from "prettier";
import { keep, root } from "./committed.mjs";

const require = createRequire(join(root, "packages/workflow/package.json"));
const { createElement } = require("react");
const { renderToStaticMarkup } = require("react-dom/server");
const { WorkflowGraph } = await import(join(root, "packages/workflow/dist/react/index.js"));

const drawn = {
  agent: "support",
  approval: "approveExpense",
  documents: "analyzeDocument",
  import: "importCustomers",
  onboarding: "drip",
  order: "fulfilOrder",
};
const bin = join(root, "packages/codegen/bin/workflow-codegen.js");
for (const [app, workflow] of Object.entries(drawn)) {
  const cwd = join(root, "examples", app);
  const json = execFileSync("node", [bin, "graph", workflow, "--format", "json"], { cwd });
  const graph = JSON.parse(json);
  const html = renderToStaticMarkup(createElement(WorkflowGraph, { graph }));
  const [style] = /<style>.*?<\/style>/s.exec(html);
  const [svg] = /<svg.*<\/svg>/s.exec(html);
  // As a picture it has its own size.
  const styled = svg
    .replace(/<svg([^>]*?) style="[^"]*"/, '<svg class="stepwise"$1')
    .replace("<defs>", `${style}<defs>`);
  keep(`examples/${app}/graph.svg`, `${styled}\n`);
  const readme = readFileSync(join(cwd, "README.md"), "utf8");
  const shownDefinition = /(?<=^```ts\n\/\/ (convex\/\w+\.workflow\.ts)\n)[^]*?(?=^```)/m;
  keep(
    `examples/${app}/README.md`,
    readme.replace(shownDefinition, (_, path) => readFileSync(join(cwd, path), "utf8")),
  );
  const shown = `examples/${app}/src/graph.json`;
  if (app === "approval")
    keep(shown, await format(String(json), { parser: "json", printWidth: 100 }));
}
