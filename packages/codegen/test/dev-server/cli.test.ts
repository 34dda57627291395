import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { Counter } from "@stepwise/testing";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { rmSync } from "../../../../scripts/folders.mjs";
import { readEvents, readJson, readSeed } from "../../src/cli/run-input.js";
import { compile } from "../../src/compile.js";
import { withSeed } from "../../src/dev-server/input.js";
import { convexConfig, type TestApp, writeApp } from "./app.js";

// The command as it is installed: needs the built packages.
const BIN = fileURLToPath(new URL("../../bin/workflow-codegen.js", import.meta.url));

const FLOWS = `import { child, defineWorkflow } from "@stepwise/workflow";
import { z } from "zod";

export const greet = defineWorkflow({ input: z.object({ name: z.string() }) })
  .step("greeting", {
    action: async (_ctx, { input }) => {
      console.log("greeting somebody");
      process.stdout.write("politely\\n");
      return "Hello " + input.name;
    },
  });

export const asks = defineWorkflow({ input: z.object({}) })
  .sleep("rest", "10m")
  .event("approval", { schema: z.object({ big: z.any() }) })
  .step("told", {
    query: async (_ctx, { approval }) => ({ ...approval, chance: Math.random() }),
  });

export const asksLater = defineWorkflow({ input: z.object({}) })
  .step("draft", { action: async () => "a draft" })
  .event("approval", { schema: z.string() });

export const asksTwo = defineWorkflow({ input: z.object({}) })
  .parent("both", { children: () => [child(asks, {}), child(asks, {})] });

export const reads = defineWorkflow({ input: z.object({ order: z.string() }) })
  .step("total", {
    query: async (ctx, { input }) => {
      const order: any = await ctx.db.get(input.order as never);
      const customer: any = await ctx.db.get(order.customer);
      return \`\${customer.name} \${order.total} \${process.env.GREETING}\`;
    },
  });

export const fails = defineWorkflow({ input: z.object({}) })
  .step("first", { query: async () => 1 })
  .step("doomed", {
    action: async () => {
      throw new Error("the disk is full");
    },
  });
`;

let app: TestApp;
beforeAll(async () => {
  const schema = `import { defineSchema, defineTable } from "convex/server";
import { v } from "convex/values";
export default defineSchema({ people: defineTable(v.any()), orders: defineTable(v.any()) });
`;
  app = await writeApp({
    "convex.config.ts": convexConfig(),
    "flows.workflow.ts": FLOWS,
    "schema.ts": schema,
  });
});
afterAll(async () => await app.remove());

function cli(...args: string[]) {
  const { status, stdout, stderr } = spawnSync(process.execPath, [BIN, "run", ...args], {
    cwd: dirname(app.functionsDir),
    encoding: "utf8",
  });
  return { status, stdout, stderr };
}

/** Takes paths as a process would that was started in the folder of the app. */
function useFolder(): void {
  const before = process.cwd();
  process.chdir(dirname(app.functionsDir));
  onTestFinished(() => process.chdir(before));
}

test(
  "the output alone goes to stdout, as JSON; progress and what functions print go to stderr",
  { tags: ["large"] },
  () => {
    const { status, stdout, stderr } = cli("greet", "--input", '{ "name": "Ada" }');
    expect(status).toBe(0);
    expect(JSON.parse(stdout)).toBe("Hello Ada");
    expect(stderr).toMatch(/greet › greeting: completed after [\d.]+ m?s/);
    expect(stderr).toContain("greeting somebody");
    expect(stderr).toContain("politely");
    expect(stderr).toMatch(/greet completed in .*\n {2}3 function executions/);
    expect(stderr).not.toContain("\u001b");
  },
);

test(
  "a failed run exits with 1, and gives the error with its place in the definition",
  { tags: ["large"] },
  () => {
    const { status, stdout, stderr } = cli("fails");
    expect(status).toBe(1);
    expect(stdout).toBe("");
    const line = FLOWS.split("\n").findIndex((text) => text.includes('"doomed"')) + 1;
    expect(stderr).toContain(`convex/flows.workflow.ts:${line}:`);
    expect(stderr).toContain('thrown in "doomed" of fails: the disk is full');
  },
);

test(
  "a run whose progress nobody reads any more has not completed; one whose output, has",
  { tags: ["large"] },
  () => {
    const piped = (words: string) => {
      const text = `"${process.execPath}" "${BIN}" run ${words} | true; exit "\${PIPESTATUS[0]}"`;
      return spawnSync("bash", ["-c", text], { cwd: dirname(app.functionsDir) }).status;
    };
    expect(piped("fails 2>&1")).toBe(1);
    expect(piped('greet --quiet --input \'{ "name": "Ada" }\'')).toBe(0);
  },
);

test("a run beside a broken workflow of its file says what is written", { tags: ["large"] }, () => {
  const file = join(app.functionsDir, "mixed.workflow.ts");
  onTestFinished(() => rmSync(file));
  const start = "defineWorkflow({ input: z.object({}) })";
  writeFileSync(
    file,
    `import { defineWorkflow } from "@stepwise/workflow";
import { z } from "zod";
export const good = ${start}.step("only", { query: () => 1 });
export const bad = ${start}.step("none", {});
`,
  );
  const { status, stderr } = cli("good", "--quiet");
  expect(status).toBe(0);
  expect(stderr).toContain("1 error. Only what is without errors is written.");
  expect(existsSync(join(app.functionsDir, "_workflows/good.ts"))).toBe(true);
});

test.skipIf(process.platform === "win32")(
  "a run that a signal ends leaves no bundle behind",
  { tags: ["large"] },
  async () => {
    const cwd = dirname(app.functionsDir);
    for (const [signal, code] of Object.entries({ SIGINT: 130, SIGTERM: 143, SIGHUP: 129 })) {
      const child = spawn(process.execPath, [BIN, "run", "asks"], { cwd });
      const ended = once(child, "exit");
      // It has been bundled by then, and sleeps.
      for await (const text of child.stderr) if (String(text).includes("sleeping")) break;
      child.kill(signal as NodeJS.Signals);
      expect((await ended)[0], signal).toBe(code);
      const cache = join(cwd, "node_modules/.cache/stepwise");
      expect(readdirSync(cache).filter((name) => name.startsWith("run-"))).toEqual([]);
    }
  },
);

test(
  "events are sent, sleeps skipped, and chance is the same for the same seed",
  { tags: ["large"] },
  () => {
    const file = join(dirname(app.functionsDir), "events.json");
    writeFileSync(
      file,
      '[{ "name": "approval", "value": { "big": { "$integer": "AQAAAAAAAAA=" } } }]',
    );
    const args = ["asks", "--skip-time", "--random", "3", "--events"];
    const [first, second] = [cli(...args, "@events.json"), cli(...args, "@events.json")];
    expect(first.status).toBe(0);
    expect(first.stderr).toMatch(/asks › rest: sleeping for 10 m/);
    expect(first.stderr).toMatch(/asks › approval: waiting for the event "approval"/);
    expect(JSON.parse(first.stdout)).toMatchObject({ big: { $integer: "AQAAAAAAAAA=" } });
    expect(second.stdout).toBe(first.stdout);
    // At a time of its own it is sent then, whether or not it is waited for by then.
    const late = '{ "name": "approval", "value": { "big": 1 }, "at": "1h" }';
    expect(cli(...args, late).stderr).toMatch(/approval: completed after 50 m/);
    const missing = cli("asks", "--skip-time");
    expect(missing.status).toBe(1);
    expect(missing.stderr).toContain(
      'The run cannot end: "approval" of asks waits for the event "approval", which nobody sends. Give it with --events.',
    );
  },
);

test(
  "what nobody sends is told at once, and no watchdog is waited for",
  { tags: ["large"] },
  () => {
    const { status, stderr } = cli("asksLater");
    expect(status).toBe(1);
    expect(stderr).toMatch(
      /waiting for "approval": send it with --events\n.*The run cannot end: "approval" of asksLater waits/,
    );
  },
);

test(
  "events reach the children that wait for them, at once or from a time on",
  { tags: ["large"] },
  () => {
    const value = '"value": { "big": 1 }';
    const events = `[{ "name": "approval", ${value} }, { "name": "approval", ${value}, "at": "1h" }]`;
    const { status, stderr } = cli("asksTwo", "--skip-time", "--events", events);
    expect(status).toBe(0);
    expect(stderr).toMatch(/both\[0\] asks › approval: completed after 0 ms/);
    expect(stderr).toMatch(/both\[1\] asks › approval: completed after 50 m/);
    expect(stderr).toMatch(/asksTwo › both: completed after 1 h/);
    const missing = cli("asksTwo", "--skip-time");
    expect(missing.stderr).toContain(
      'The run cannot end: "approval" of asks waits for the event "approval" (2 runs), which nobody sends.',
    );
  },
);

test(
  "--seed inserts documents, which the input names; functions see .env.local before .env",
  { tags: ["large"] },
  () => {
    const folder = dirname(app.functionsDir);
    writeFileSync(join(folder, ".env"), "GREETING=from-env\n");
    writeFileSync(join(folder, ".env.local"), "GREETING=from-local\n");
    const documents = `{ "people": [{ "_id": "ada", "name": "Ada" }],
    "orders": [{ "_id": "first", "customer": "$id:ada", "total": 5 }] }`;
    writeFileSync(join(folder, "seed.json"), documents);
    const { stdout } = cli("reads", "--seed", "seed.json", "--input", '{ "order": "$id:first" }');
    expect(stdout).toBe('"Ada 5 from-local"\n');
  },
);

test("what is wrong with a seed is told, with the document, the label or the table that is meant", async () => {
  useFolder();
  const t = new Counter().convexTest({ modules: { "./_generated/api.js": async () => ({}) } });
  const back = { t, tables: ["people", "orders"] };
  const seed = async (text: string) => {
    writeFileSync("seed.json", text);
    return await withSeed(back, { order: "$id:first" }, await readSeed("seed.json"));
  };
  await expect(seed('{ "orders": [{ "customer": "$id:ada" }] }')).rejects.toThrow(
    'The seeded document 1 of "orders" names the document "ada", which the seed does not hold before it.',
  );
  await expect(seed("{}")).rejects.toThrow('The input names the document "first"');
  await expect(seed('{ "orders": {} }')).rejects.toThrow(
    'The table "orders" in seed.json is not a list',
  );
  await expect(seed("[]")).rejects.toThrow("seed.json is not an object of tables");
  await expect(seed('{ "order": [] }')).rejects.toThrow(
    'The schema has no table "order", which the seed names. Did you mean "orders"?',
  );
});

test("--quiet prints the output, and of a run that fails why", { tags: ["large"] }, () => {
  expect(cli("greet", "--quiet", "--input", '{ "name": "Ada" }')).toEqual({
    status: 0,
    stdout: '"Hello Ada"\n',
    stderr: "",
  });
  expect(cli("fails", "--quiet").stderr).toMatch(/^fails failed in [^]*the disk is full/);
});

test(
  "an event that is left over at the end is named; the exit code is that of the run",
  { tags: ["large"] },
  () => {
    const twice = '[{ "name": "approval", "value": { "big": 1 } }, { "name": "approval" }]';
    const { status, stderr } = cli("asks", "--skip-time", "--events", twice);
    expect(status).toBe(0);
    expect(stderr).toContain(
      'The event "approval" was not sent: the run ended before anything waited for it, or before its time.\n',
    );
    const late =
      '[{ "name": "approval", "value": { "big": 1 } }, { "name": "approval", "at": "1 day" }]';
    expect(cli("asks", "--skip-time", "--events", late).stderr).toContain("was not sent");
  },
);

test("an edited definition is compiled again before it runs", { tags: ["large"] }, () => {
  const file = join(app.functionsDir, "flows.workflow.ts");
  const edited = FLOWS.replace('"Hello "', '"Bye "').replace(
    "export const fails",
    'export const wave = defineWorkflow({ input: z.object({}) }).step("waving", { query: async () => "o/" });\n\nexport const fails',
  );
  writeFileSync(file, edited);
  try {
    expect(JSON.parse(cli("greet", "--input", '{ "name": "Ada" }').stdout)).toBe("Bye Ada");
    expect(JSON.parse(cli("wave").stdout)).toBe("o/");
    expect(readFileSync(join(app.functionsDir, "_workflows", "wave.ts"), "utf8")).toContain(
      "waving",
    );
  } finally {
    writeFileSync(file, FLOWS);
  }
});

test("generated code is run where the app's config has it stand", { tags: ["large"] }, () => {
  const config = join(app.functionsDir, "stepwise.config.ts");
  writeFileSync(
    config,
    'import { defineConfig } from "@stepwise/workflow";\nexport default defineConfig({ output: "generated/workflows" });\n',
  );
  rmSync(join(app.functionsDir, "_workflows"), { recursive: true });
  try {
    const { status, stdout } = cli("greet", "--input", '{ "name": "Ada" }');
    expect({ status, output: JSON.parse(stdout) }).toEqual({ status: 0, output: "Hello Ada" });
    expect(existsSync(join(app.functionsDir, "generated/workflows/index.ts"))).toBe(true);
    expect(existsSync(join(app.functionsDir, "_workflows/index.ts"))).toBe(false);
  } finally {
    rmSync(config);
    rmSync(join(app.functionsDir, "generated"), { recursive: true });
  }
  expect(cli("greet", "--input", '{ "name": "Ada" }').status).toBe(0);
  expect(existsSync(join(app.functionsDir, "_workflows/index.ts"))).toBe(true);
});

test(
  "a definition that does not compile is not run; its diagnostics are shown",
  { tags: ["large"] },
  () => {
    const file = join(app.functionsDir, "flows.workflow.ts");
    writeFileSync(file, FLOWS.replace('"greeting"', '"not a name"'));
    try {
      const { status, stdout, stderr } = cli("greet");
      expect(status).toBe(1);
      expect(stdout).toBe("");
      expect(stderr).toMatch(/flows\.workflow\.ts:5:\d+ error SW1002/);
    } finally {
      writeFileSync(file, FLOWS);
    }
  },
);

test(
  "an error of the app's own code is told with its place in the sources",
  { tags: ["large"] },
  async () => {
    const broken = await writeApp({
      "convex.config.ts": convexConfig(),
      "flows.workflow.ts": `${FLOWS}throw new Error("not today");\n`,
    });
    const { status, stderr } = cli("greet", "--dir", broken.functionsDir);
    await broken.remove();
    expect(status).toBe(1);
    expect(stderr).toContain("not today");
    expect(stderr).not.toContain("chunk-");
  },
);

test("what the user got wrong is answered in a line, without a stack", { tags: ["large"] }, () => {
  const answers = [
    cli("gret"),
    cli("greet", "--input", "{ name"),
    cli("greet", "--file", "name=@nowhere.txt"),
    cli("greet", "--dir", "nowhere"),
    cli("greet"),
    cli("asks", "--random", "x"),
  ];
  for (const { status, stdout, stderr } of answers) {
    expect(status).toBe(1);
    expect(stdout).toBe("");
    expect(stderr).not.toMatch(/\n\s+at /);
    expect(stderr).not.toMatch(/ENOENT|EISDIR/);
  }
  const said = answers.map(({ stderr }) => stderr);
  expect(said[0]).toContain('There is no workflow "gret". Did you mean "greet"?');
  expect(said[1]).toContain("--input is not JSON");
  expect(said[2]).toContain('The file for "name" cannot be read: there is no nowhere.txt.');
  expect(said[3]).toContain("There is no functions folder");
  expect(said[4]).toContain("input.name");
  expect(said[5]).toContain("It must be a whole number.");
});

test("a file or JSON that does not fit its option is told by the option", async () => {
  useFolder();
  writeFileSync("marked.json", '\ufeff{ "name": "Ada" }');
  expect(await readJson("@marked.json", "--input")).toEqual({ name: "Ada" });
  const { plan } = await compile({ functionsDir: app.functionsDir });
  const wrongs: (readonly [() => Promise<unknown>, string])[] = [
    [
      () => readJson("@nowhere.json", "--input"),
      "--input cannot be read: there is no nowhere.json.",
    ],
    [() => readJson("@convex", "--input"), "--input cannot be read: convex is a folder."],
    [
      () => readEvents("@nowhere.json", "asks", plan),
      "--events cannot be read: there is no nowhere",
    ],
    [() => readEvents("[7]", "asks", plan), "--events: event 1 is not an object."],
    [
      () => readEvents('[{ "name": "approval", "at": "soon" }]', "asks", plan),
      'has "soon" as its "at", which is neither',
    ],
    [
      () => readEvents('[{ "name": "approval", "time": 1 }]', "asks", plan),
      'has an unknown field "time"',
    ],
    [
      () => readEvents('[{ "name": "aproval" }]', "asks", plan),
      '--events: no node of asks, or of a workflow below it, waits for an event "aproval". Did you mean "approval"?',
    ],
    [
      () => readEvents('[{ "name": "approval", "at": 1 }]', "greet", plan),
      '--events: no node of greet, or of a workflow below it, waits for an event "approval". There are no events at all.',
    ],
  ];
  for (const [read, told] of wrongs) await expect(read()).rejects.toThrow(told);
});
