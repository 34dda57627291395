import { expect, test } from "vitest";
import { Compiler } from "../../src/compile.js";
import { explain } from "../../src/explain/explain.js";

const head = `import { defineWorkflow } from "@stepwise/workflow";
import { z } from "zod";
import { shared } from "./shared";
const fixed = { retry: true };
const changed = { retry: true };
changed.retry = false;
const constants = { retry: true } as const;
shared(constants);
const frozen = Object.freeze({ retry: true });
shared(frozen);
const [listed] = [{ retry: true }];
class Of { static readonly static = { retry: true }; }
Of.static.retry = false;
namespace Within { export const space = { retry: true }; }
Within.space.retry = false;
class Kept { static readonly static = { retry: true }; }
namespace Around { export const space = { timeout: 1000 }; }
const typed = (_of: Kept): typeof Around | undefined => undefined;
const none = { retry: undefined };
const later = { retry: undefined };
later.retry = true;
const input = z.object({});
`;

async function compiled(workflow: string, config?: string) {
  const read = (file: string) => (file === "stepwise.config.ts" ? config : undefined);
  const sources = [{ file: "a.workflow.ts", text: `${head}export const flow = ${workflow};` }];
  const result = await new Compiler().compileSources(sources, read);
  expect(result.diagnostics).toEqual([]);
  return result;
}

test.each([
  ["known", "...fixed, action", 5, undefined],
  ["written after a spread", "...shared, retry: true, timeout: 1000, action", 5, 1000],
  ["spread from what is not seen", "...shared, action", null, null],
  ["written before a spread", "retry: true, timeout: 1000, action, ...shared", null, null],
  ["in a condition", "...(Math.random() > 2 && { retry: true }), action", null, null],
  ["held in a changing object", "...changed, action", null, undefined],
  ["held in a changing object of constants", "...constants, action", null, undefined],
  ["held in a changing object that is frozen", "...frozen, action", null, undefined],
  ["held in a changing object of a list", "...listed, action", null, undefined],
  ["held in a changing object of a class", "...Of.static, action", null, undefined],
  ["held in a changing object of a namespace", "...Within.space, action", null, undefined],
  ["held by a class and a namespace that stay", "...Kept.static, ...Around.space, action", 5, 1000],
  ["a getter", "get retry() { return true; }, action", null, undefined],
  ["under a computed name", "[shared]: true, action", null, null],
  ["called", "...fixed, timeout: shared(), action", 5, null],
  ["taken away by a spread", "retry: true, ...{ retry: undefined }, action", 1, undefined],
  ["taken away by a const", "retry: true, ...none, action", 1, undefined],
  ["taken away, and given again", "...none, retry: true, action", 5, undefined],
  ["perhaps taken away", "retry: true, ...later, action", null, null],
  [
    "a kind that is taken away",
    "mutation: shared, ...{ mutation: undefined }, action",
    1,
    undefined,
  ],
])(
  "[S151] explain says if an option is computed: %s",
  async (_of, options, attempts, timeoutMs) => {
    const step = `.step("s", { ${options}: async () => 1 })`.replace(
      "action, ...shared: async () => 1",
      "action: async () => 1, ...shared",
    );
    const { plan } = await compiled(`defineWorkflow({ input })${step}`);
    expect(explain(plan)[0]?.nodes[0]?.stages[0]).toMatchObject({ attempts, timeoutMs });
  },
);

test("[S151] a workflow whose retry may be spread has the app's as its default", async () => {
  const config = `import { defineConfig } from "@stepwise/workflow";
export default defineConfig({ retry: true });`;
  const flow = 'defineWorkflow({ ...shared, input }).step("s", { action: async () => 1 })';
  const { plan, files } = await compiled(flow, config);
  expect(explain(plan)[0]?.nodes[0]?.stages[0]?.attempts).toBeNull();
  expect(files.find(({ path }) => path.endsWith("/flow.ts"))?.text).toContain("retry: true");
});

const steps = `const steps = { first: { query: () => 1 }, second: { action: async () => 2, retry: true } };
const spread = { ...shared, first: { query: () => 1 } };
const changing = { first: { query: () => 1 } };
`;

test("options that a const object holds under a name are seen, if nothing changes it", async () => {
  const text = `${head}${steps}export const flow = defineWorkflow({ input })
  .step("a", steps["first"]).step("b", { ...steps.second, timeout: "1m" }).step("c", spread.first)
  .step("d", changing.first);
changing.first = { query: () => 2 };`;
  const { plan, diagnostics } = await new Compiler().compileSources([
    { file: "a.workflow.ts", text },
  ]);
  expect(diagnostics).toEqual([]);
  const [a, b, c, d] = plan.workflows[0]?.nodes.flatMap(({ stages }) => stages) ?? [];
  expect(a).toMatchObject({ kind: "query", reads: [] });
  expect(b).toMatchObject({ kind: "action", reads: [], policy: { values: { retry: true } } });
  expect(c).toMatchObject({ kind: "query", reads: [] });
  expect(d).toMatchObject({ kind: "query", reads: ["*"] });
});

const named = (timeout: string, more = "") => `${head}
namespace Shared { export const options = { action: () => 1, timeout: "${timeout}" }; export const second = "b"; }
import options = Shared.options; import Other = Shared; import name = Other.second; ${more}
export const flow = defineWorkflow({ input: schema }).step("a", options).step(name, { query: () => 1 });`;

test("what import = gives a name to is read, hashed, and seen to change", async () => {
  const planOf = async (text: string, field = "size") => {
    const schemas = `import { z } from "zod";\nexport const order = z.object({ ${field}: z.string() });`;
    const aliased = `import * as schemas from "./schemas"; import schema = schemas.order;\n${text}`;
    const sources = [{ file: "a.workflow.ts", text: aliased }];
    const read = (file: string) => (file === "schemas.ts" ? schemas : undefined);
    const { plan, diagnostics } = await new Compiler().compileSources(sources, read);
    expect(diagnostics).toEqual([]);
    const [{ nodes, input } = expect.fail()] = plan.workflows;
    return { hash: input.hash, nodes };
  };
  const before = await planOf(named("1m"));
  expect(before.nodes).toMatchObject([{ name: "a", options: { timeout: "1m" } }, { name: "b" }]);
  const after = await planOf(named("2m"), "height");
  expect(after.hash).not.toBe(before.hash);
  expect(after.nodes[0]?.hash).not.toBe(before.nodes[0]?.hash);
  const changed = await planOf(named("1m", 'Other.options.timeout = "2m";'));
  expect(changed.nodes[0]?.options).toEqual({});
});

test.each(["steps.third", "shared.first", "steps[shared]", "{ ...spread.second }"])(
  "options that are not seen under a name need their kind beside them: %s",
  async (options) => {
    const flow = `export const flow = defineWorkflow({ input }).step("a", ${options});`;
    const text = head + steps + flow;
    const found = await new Compiler().compileSources([{ file: "a.workflow.ts", text }]);
    expect(found.diagnostics.map(({ code }) => code)).toEqual(["SW1205"]);
  },
);

test.each([
  "shared ? { children } : { children, concurrency: 2 }",
  "{ ...(shared ? { children } : { children: () => [] }), tolerate: 'all' }",
  "{ ...shared, children: shared.children }",
])("[S151] children that a node has in any case may be computed: %s", async (options) => {
  const { plan } = await compiled(`defineWorkflow({ input }).parent("a", ${options});
function children() { return []; }`);
  expect(plan.workflows[0]?.nodes[0]?.stages).toMatchObject([{ kind: "children", reads: ["*"] }]);
});

test.each(["shared", "limit", "make(1)"])(
  "limits that a list takes from elsewhere, or from a function, are computed: %s",
  async (limit) => {
    const text = `${head}import { limit } from "./limits";
const make = (estimate: number) => ({ tokens: { estimate } });
export const flow = defineWorkflow({ input })
  .step("a", { action: async () => 1, limits: ["api", ${limit}] });`;
    const limits = `export const limit = { tenant: () => "acme" };`;
    const config = `import { defineConfig } from "@stepwise/workflow";
const rate = { limit: 9, per: "1m" };
export default defineConfig({
  limits: { api: { total: 5 }, tenant: { perKey: 1 }, tokens: { rate, unit: "tokens" } },
});`;
    const files: Readonly<Record<string, string>> = {
      "limits.ts": limits,
      "stepwise.config.ts": config,
    };
    const sources = [{ file: "a.workflow.ts", text }];
    const { diagnostics } = await new Compiler().compileSources(sources, (file) => files[file]);
    expect(diagnostics).toEqual([]);
  },
);

test("an input that a changing object holds has the type of the definition", async () => {
  const text = `${head}export const all = { input, timeout: "1m" };
all.timeout = "2m";
export const flow = defineWorkflow(all).step("a", { query: () => 1 });`;
  const { plan, diagnostics } = await new Compiler().compileSources([
    { file: "a.workflow.ts", text },
  ]);
  expect(diagnostics).toEqual([]);
  expect(plan.workflows[0]?.input.kind).toBe("definition");
});

const berlin = { at: "02:30", zone: "Europe/Berlin" };

test.each([
  ["is written", ".sleep('z', { at: '02:30', zone: 'Europe/Berlin' })", berlin],
  ["a const holds, and nothing changes", ".sleep('z', time)", berlin],
  ["a const holds, and something changes", ".sleep('z', time); time.zone = shared.zone", undefined],
  ["a const holds, and something else gets", ".sleep('z', time); shared(time)", undefined],
  ["what is refused is changed", ".sleep('z', wrong); wrong.zone = 'Asia/Tokyo'", undefined],
])(
  "[S151] a time of day is in the plan only if it stays as it is: it %s",
  async (_how, nodes, duration) => {
    const times = `const time = { at: '02:30', zone: 'Europe/Berlin' };
const wrong: any = { at: '02:30', zone: '' };`;
    const text = `${head}${times}\nexport const flow = defineWorkflow({ input })${nodes};`;
    const { plan, diagnostics } = await new Compiler().compileSources([
      { file: "a.workflow.ts", text },
    ]);
    expect(diagnostics).toEqual([]);
    const [sleep] = plan.workflows[0]?.nodes ?? [];
    expect(sleep?.options["duration"]).toEqual(duration);
    expect(sleep?.stages[0]?.reads).toEqual([]);
  },
);
