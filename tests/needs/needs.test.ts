/** @module-tag large */
import { readdir, readFile } from "node:fs/promises";
import { register as registerLimiter } from "@convex-dev/rate-limiter/test";
import { register as registerPool } from "@convex-dev/workpool/test";
import { Counter, type Totals, vitestTimers } from "@stepwise/testing";
import { makeFunctionReference } from "convex/server";
import { afterAll, afterEach, beforeEach, expect, test, vi } from "vitest";
import { Deployment, Releases } from "../edits/deployed.js";
import schema from "./workpool/schema.js";
import { served } from "./server.js";

/* Needs that are written with Stepwise, and with components that Convex developers use for them. */

const releases = new Releases();
beforeEach(() => {
  vi.useFakeTimers({ now: 1_800_000_000_000 });
});
afterEach(() => {
  vi.useRealTimers();
});
afterAll(async () => {
  await releases.remove();
});

const modules = import.meta.glob("./workpool/**/*.ts");
type Test = ReturnType<Counter["convexTest"]>;
const components: Parameters<Test["registerComponent"]>[] = [];
const noted = { registerComponent: (...component) => void components.push(component) } as Test;
registerPool(noted, "workpool");
registerLimiter(noted, "rateLimiter");
// What is loaded while a test drives virtual time would take real time then.
for (const some of [modules, ...components.map(([, , own]) => own)])
  for (const [path, load] of Object.entries(some))
    if (!/\.(test|config)\./.test(path)) await load();

const TEN_MINUTES = 600_000;
/** Also what an engine does when all is done belongs to its costs. */
async function drive(counter: Counter): Promise<void> {
  const end = Date.now() + TEN_MINUTES;
  setTimeout(() => {}, TEN_MINUTES);
  await counter.drive({ timers: vitestTimers(vi), done: () => Date.now() >= end });
}

/** Starts all of a need at once, and lets them go on to the end. @returns what that took. */
type Play = (need: string, inputs: readonly Record<string, unknown>[]) => Promise<Totals>;

const withStepwise: Play = async (need, inputs) => {
  vi.useRealTimers();
  const folder = new URL("stepwise/", import.meta.url);
  const names = (await readdir(folder)).filter((name) => name.endsWith(".ts"));
  const texts = names.map(async (name) => [name, await read(`stepwise/${name}`)]);
  const files: Record<string, string> = Object.fromEntries(await Promise.all(texts));
  const version = await releases.release({ ...files, "server.ts": await read("server.ts") });
  vi.useFakeTimers({ now: 1_800_000_000_000 });
  const deployment = new Deployment(
    version,
    [],
    undefined,
    new Counter({ deploymentClass: "s256" }),
  );
  for (const input of inputs) await deployment.call("start", { name: need, input });
  await drive(deployment.counter);
  return deployment.counter.totals();
};

const withWorkpool: Play = async (need, inputs) => {
  const counter = new Counter({ deploymentClass: "s256" });
  const t = counter.convexTest({ schema, modules });
  for (const component of components) t.registerComponent(...component);
  const start = makeFunctionReference<"mutation">(`${need}:start`);
  for (const input of inputs) await t.mutation(start, input);
  await drive(counter);
  return counter.totals();
};

/** The most calls of one tenant or customer that the server had at one time. */
function mostOfOne(calls: ReturnType<typeof served>): number {
  const atOnce = calls.map(
    ({ of, at }) =>
      calls.filter((each) => each.of === of && each.at <= at && each.until > at).length,
  );
  return Math.max(...atOnce);
}

interface Need {
  readonly title: string;
  readonly inputs: readonly Record<string, unknown>[];
  /** Its limit, a line of the config; and its table, without Stepwise. */
  readonly config?: string;
  readonly table?: string;
  /** Throws unless the calls were as they are to be. */
  readonly check: (calls: ReturnType<typeof served>) => void;
}

const each = <Item>(count: number, make: (n: number) => Item): Item[] =>
  Array.from({ length: count }, (_, n) => make(n));

const NEEDS: Readonly<Record<string, Need>> = {
  videos: {
    title: "two transcoders per tenant, 60 videos of 3 tenants",
    inputs: each(60, (n) => ({ tenant: `t${n % 3}`, n })),
    config: "tenant",
    table: "videos",
    check: (calls) => {
      expect(new Set(calls.map(({ what }) => what)).size).toBe(60);
      expect(calls).toHaveLength(60);
      expect(mostOfOne(calls)).toBe(2);
    },
  },
  orders: {
    title: "one order per customer at a time, 60 of 4 customers",
    inputs: each(60, (n) => ({ customer: `c${n % 4}`, n })),
    table: "orders",
    check: (calls) => {
      expect(mostOfOne(calls)).toBe(1);
      for (const customer of each(4, (n) => n)) {
        const own = calls.filter(({ of }) => of === `c${customer}`).map(({ what }) => what);
        const orders = each(15, (n) => customer + 4 * n);
        expect(own).toEqual(orders.flatMap((n) => [`charge ${n}`, `ship ${n}`]));
      }
    },
  },
  requests: {
    title: "100 requests a minute, 240 at once",
    inputs: each(240, (n) => ({ n })),
    config: "requests",
    check: (calls) => {
      expect(calls.filter(({ what }) => what.startsWith("request"))).toHaveLength(240);
      // What a bucket has saved up comes on top of its rate.
      expect(mostIn(calls, 60_000)).toBeLessThanOrEqual(200);
    },
  },
  answers: {
    title: "40,000 tokens a minute, 240 answers",
    inputs: each(240, (n) => ({ n })),
    config: "tokens",
    check: (calls) => {
      expect(calls).toHaveLength(240);
      // 120,000 tokens, of which a bucket has saved up 40,000.
      expect(calls.at(-1)!.at - calls[0]!.at).toBeGreaterThan(110_000);
    },
  },
};

/** The most calls in so many ms. */
function mostIn(calls: ReturnType<typeof served>, ms: number): number {
  const counts = calls.map(
    ({ at: from }) => calls.filter(({ at }) => at >= from && at < from + ms).length,
  );
  return Math.max(...counts);
}

const read = async (path: string): Promise<string> =>
  await readFile(new URL(path, import.meta.url), "utf8");
const isCode = (line: string): boolean => line !== "" && !line.startsWith("import ");
const linesIn = (text: string): number => text.split("\n").filter(isCode).length;

/** How long a need is with Stepwise, and without. */
async function linesOf(name: string, { config, table }: Need): Promise<[number, number]> {
  const own = linesIn(await read(`stepwise/${name}.workflow.ts`));
  const without = linesIn(await read(`workpool/${name}.ts`));
  const schema = await read("workpool/schema.ts");
  const [rows = ""] = RegExp(`^ {2}${table}: [^]*?(?=^ {2}\\w+: |^}\\))`, "m").exec(schema) ?? [];
  return [own + Number(config !== undefined), without + (table ? linesIn(rows) : 0)];
}

const guide = await read("../../docs/guides/limits-compared.md");

test.each(Object.keys(NEEDS))(
  "the guide says what %s cost, with Stepwise and without",
  async (name) => {
    const need = NEEDS[name]!;
    const costs: Totals[] = [];
    const refused: number[] = [];
    for (const play of [withStepwise, withWorkpool]) {
      costs.push(await play(name, need.inputs));
      const calls = served();
      need.check(calls);
      refused.push(calls.filter(({ what }) => what.startsWith("refuse")).length);
    }
    const of = (what: "rootExecutions" | "documentsRead" | "documentsWritten") =>
      costs.map((totals) => totals[what] / need.inputs.length);
    const seen = [
      await linesOf(name, need),
      of("rootExecutions"),
      of("documentsRead"),
      of("documentsWritten"),
      refused,
    ].flat();
    const row = guide.split("\n").find((line) => line.startsWith(`| ${need.title} `));
    const told =
      row
        ?.replace(need.title, "")
        .match(/[\d.]+/g)
        ?.map(Number) ?? [];
    expect(told).toHaveLength(seen.length);
    // Documents are told in whole numbers. Both draw at random which of several they look at.
    for (const [index, value] of told.entries()) {
      const most = 0.03 * value + (index < 4 ? 0.06 : 0.6);
      expect(Math.abs(value - seen[index]!), `${value}`).toBeLessThan(most);
    }
  },
);

test("the guide shows what is run", async () => {
  const shown = new Map(
    [...guide.matchAll(/^```ts\n\/\/ convex\/(\S+)\n([^]*?)^```/gm)].map(([, path = "", code]) => [
      code,
      path,
    ]),
  );
  for (const folder of ["stepwise", "workpool"]) {
    const names = (await readdir(new URL(`${folder}/`, import.meta.url))).filter(
      (name) => name.endsWith(".ts") && name !== "server.ts",
    );
    for (const name of names) expect(shown.get(await read(`${folder}/${name}`))).toBe(name);
  }
});
