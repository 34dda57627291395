/** @module-tag large */
import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { Counter, installTimers } from "@stepwise/testing";
import { anyApi } from "convex/server";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { rm } from "../../scripts/folders.mjs";
import { deploy, type Deployed } from "./deploy-command.js";
import type { Push } from "./deploy-listener.js";
import { functionsOf, modulesFolder, writeModules, type WrittenModules } from "./deploy-modules.js";

// The example is deployed as it is, with the built packages, as an installed app would be.
const EXAMPLE = fileURLToPath(new URL("../../examples/documents", import.meta.url));
const documents = anyApi["documents"]!;

let deployed: Deployed;
let push: Push;
let folder: string;
let app: WrittenModules;
let component: WrittenModules;

beforeAll(async () => {
  deployed = await deploy(EXAMPLE);
  push = deployed.push;
  folder = await modulesFolder();
  const { changedModules, schema } = push.appDefinition;
  const [workflow] = push.componentDefinitions;
  app = await writeModules(`${folder}/app`, changedModules, schema);
  component = await writeModules(`${folder}/workflow`, workflow!.functions, workflow!.schema);
});
afterAll(async () => {
  if (folder !== undefined) await rm(folder, { recursive: true });
});

const withoutChunks = (modules: { path: string }[]) =>
  modules.map(({ path }) => path).filter((path) => !path.startsWith("_deps/"));

describe("what the official command sends", () => {
  test("are the app's modules and the generated ones, and no definitions", () => {
    expect(withoutChunks(push.appDefinition.changedModules).sort()).toEqual([
      "_workflows/analyzeDocument.js",
      "_workflows/analyzeSection.js",
      "_workflows/index.js",
      "_workflows/workflows.js",
      "documents.js",
      "reports.js",
      "text.js",
      "users.js",
    ]);
  });

  test("has the component mounted once, with its own tables", () => {
    expect(push.appDefinition.dependencies).toHaveLength(1);
    expect(push.componentDefinitions).toHaveLength(1);
    expect(push.componentDefinitions[0]!.definitionPath).toBe(push.appDefinition.dependencies[0]);
    expect(Object.keys(component.schema.tables)).toEqual(expect.arrayContaining(["runs", "steps"]));
    expect(Object.keys(app.schema.tables)).toEqual(["reports"]);
  });

  test("runs in Convex's own runtime throughout", () => {
    const modules = [
      ...push.appDefinition.changedModules,
      ...push.componentDefinitions.flatMap(({ functions }) => functions),
    ];
    expect(modules.filter(({ environment }) => environment !== "isolate")).toEqual([]);
    // An import that only Node could resolve would be left in the source.
    for (const { source } of modules) expect(source).not.toMatch(/from\s*"node:/);
  });

  test("went to nobody but the deployment", () => {
    expect(deployed.strangers).toEqual([]);
  });
});

describe("the functions that arrive", () => {
  test("all check their arguments and results", async () => {
    for (const written of [app, component]) {
      const functions = await functionsOf(written);
      expect(functions.length).toBeGreaterThan(0);
      for (const { name, args, returns } of functions) {
        expect(args.type, `arguments of ${name}`).toBe("object");
        expect(returns, `result of ${name}`).not.toBeNull();
      }
    }
  });

  test("are public only where the app's author made them so", async () => {
    const functions = await functionsOf(app);
    const names = functions.filter(({ visibility }) => visibility === "public");
    expect(names.map(({ name }) => name)).toEqual([
      "documents:generateUploadUrl",
      "documents:progress",
      "documents:report",
      "documents:upload",
    ]);
  });

  test("include, per action of a definition, the action and its completion", async () => {
    const generated = (await functionsOf(app)).filter(({ name }) => name.startsWith("_workflows/"));
    const types = Object.fromEntries(generated.map(({ name, type }) => [name.slice(11), type]));
    expect(types).toMatchObject({
      "analyzeDocument:outline": "action",
      "analyzeDocument:outlineDone": "mutation",
      "analyzeDocument:entry": "mutation",
      "analyzeSection:analysis": "action",
      "analyzeSection:analysisDone": "mutation",
      "analyzeSection:entry": "mutation",
    });
  });
});

test(
  "what arrives runs the example to its end, started by a client",
  { tags: ["large"] },
  async () => {
    const timers = installTimers();
    try {
      const counter = new Counter();
      const t = counter.convexTest(app);
      t.registerComponent("workflow", component.schema, component.modules);
      const text = await readFile(`${EXAMPLE}/input/gpl-3.txt`);
      const storageId = await t.run(async (ctx) => await ctx.storage.store(new Blob([text])));

      const user = t.withIdentity({ subject: "ada" });
      const args = { title: "GNU General Public License", storageId };
      const runId = (await user.mutation(documents["upload"]!, args)) as string;
      const progress = async () => await user.query(documents["progress"]!, { runId });
      const done = async () => ((await progress()) as { state: string }).state !== "running";
      await counter.drive({ timers, done, patienceMs: 500 });

      expect(await progress()).toMatchObject({ state: "completed", active: [], words: 5607 });
      expect(await user.query(documents["report"]!, { storageId })).toMatchObject({
        title: "GNU General Public License",
        sections: 19,
        analysis: { words: 5607, frequentWords: [{ word: "license", count: 97 }, {}, {}, {}, {}] },
      });
      expect(counter.violations).toEqual([]);
      // The same file again is the same run.
      expect(await user.mutation(documents["upload"]!, args)).toBe(runId);
    } finally {
      timers.uninstall();
    }
  },
);
