// Draws the first workflow of each example as graph.svg, with the component that apps use. With
// --check it writes nothing, and fails if a drawing is out of date.
import { execFileSync } from "node:child_process";
import { readFileSync, readdirSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join, resolve } from "node:path";

const root = resolve(import.meta.dirname, "..");
const require = createRequire(join(root, "packages/workflow/package.json"));
const { createElement } = require("react");
const { renderToStaticMarkup } = require("react-dom/server");
const { WorkflowGraph } = await import(join(root, "packages/workflow/dist/react/index.js"));

const drawn = {
  agent: "support",
  approval: "approveExpense",
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
  const text = `${svg.replace("<svg", '<svg class="stepwise"').replace("<defs>", `${style}<defs>`)}\n`;
  const file = join(cwd, "graph.svg");
  const known = readdirSync(cwd).includes("graph.svg") ? readFileSync(file, "utf8") : undefined;
  if (known === text) continue;
  if (!process.argv.includes("--check")) writeFileSync(file, text);
  else {
    console.error(`examples/${app}/graph.svg is out of date: run node scripts/graphs.mjs`);
    process.exitCode = 1;
  }
}
