import { deploymentSource, type Client } from "@stepwise/studio";
import type { ConvexClient } from "convex/browser";
import { makeFunctionReference } from "convex/server";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { openSource } from "../../packages/codegen/src/cli/studio.js";
import type { CompileResult } from "../../packages/codegen/src/compile.js";
import { openBackEnd, type BackEnd } from "../../packages/codegen/src/dev-server/back-end.js";
import type { TestApp } from "../../packages/codegen/test/dev-server/app.js";
import { EmbeddedClient, eventually, writeShopTwice } from "./app.js";

let app: TestApp;
let back: BackEnd;

const clients: EmbeddedClient[] = [];
const url = "https://happy-otter-123.convex.cloud";
const connect = () => {
  clients.push(new EmbeddedClient(back));
  // It has only those of the client's methods that the source calls.
  return clients.at(-1) as unknown as ConvexClient;
};
const openDeployment = () =>
  openSource(app.functionsDir, {} as CompileResult, { url, module: "studio", connect }, () => {});

beforeAll(async () => {
  app = await writeShopTwice();
  back = await openBackEnd(app.functionsDir);
});
afterAll(async () => {
  back.close();
  await app.remove();
});

const read = makeFunctionReference<"query", { call: unknown }, any>("studio:read");
const write = makeFunctionReference<"mutation", { call: unknown }, any>("studio:write");

test("only who is authorised sees or steers anything", { tags: ["large"] }, async () => {
  const call = { name: "runs", args: { cursor: null } };
  await expect(back.t.query(read, { call })).rejects.toThrow("Operators only");
  const start = { name: "start", args: { workflow: "parcel", input: { item: "a" } } };
  await expect(back.t.mutation(write, { call: start })).rejects.toThrow("Operators only");
  const operator = back.t.withIdentity({ subject: "operator" });
  const runId = await operator.mutation(write, { call: start });
  await eventually(async () =>
    expect(await operator.query(read, { call })).toMatchObject({
      page: [{ runId, state: "completed" }],
    }),
  );
});

test(
  "the source of --url reads, watches and does everything through the app's functions",
  { tags: ["large"] },
  async () => {
    vi.stubEnv("CONVEX_DEPLOY_KEY", "prod:a-secret");
    const { source, close } = await openDeployment();
    expect(clients.at(-1)).toMatchObject({ keys: ["prod:a-secret"] });
    const answers: unknown[] = [await source.read("workflows", {}), await source.read("pool", {})];
    const input = { items: ["a"], card: "visa" };
    const runId = await source.write("start", { workflow: "order", input, key: "by url" });
    const seen: unknown[] = [];
    const stop = source.watch(
      "run",
      { runId },
      (run) => seen.push(run?.paused),
      (error) => seen.push(error),
    );
    await source.write("pause", { runId });
    await eventually(() => expect(seen.at(-1)).toBe(true));
    await source.write("resume", { runId });
    await eventually(() => expect(seen.at(-1)).toBe(false));
    stop();
    await eventually(async () =>
      expect(await source.read("run", { runId })).toMatchObject({ active: [{ node: "approval" }] }),
    );
    await source.write("sendEvent", { runId, name: "approval", payload: { by: "Ada" } });
    const isOver = async () =>
      expect(await source.read("run", { runId })).toMatchObject({ state: "completed" });
    await eventually(isOver);
    await source.write("restart", { runId, from: "parcels", input: { ...input, items: ["b"] } });
    await eventually(isOver);
    answers.push(await source.read("run", { runId }), await source.read("input", { runId }));
    expect(answers.slice(2)).toMatchObject([
      { generation: 2, output: { by: "Ada", parcels: { children: ["packed b"] } } },
      { items: ["b"] },
    ]);
    answers.push(await source.read("steps", { runId, cursor: null }));
    const { page } = await source.read("runs", { text: "BY URL", cursor: null });
    expect(page).toMatchObject([{ runId }]);
    await expect(source.write("cancel", { runId: "nobody" })).rejects.toThrow(
      "there is no such run",
    );
    expect(await source.write("cancel", { runId })).toBe(false);
    const where = { text: "BY URL" };
    expect(await source.read("count", { ...where, upTo: 5 })).toEqual({ count: 1, isMore: false });
    const bulkId = await source.write("startBulk", { do: "cancel", where, perSecond: 10 });
    await eventually(async () =>
      expect((await source.read("bulks", {}))[0]).toMatchObject({ bulkId, refused: 1 }),
    );
    expect(await source.write("stopBulk", { bulkId })).toBe(false);
    const filters = [
      { workflow: "order", doing: "waitingForEvent", since: 0, until: 9e12 },
      { workflow: "order", node: "approval" },
      { workflow: "order", state: "completed", outdated: true, key: "by" },
      { tag: { org: "acme", seats: 3, isOpen: true } },
      { parent: runId },
    ] as const;
    for (const filter of filters) {
      const listed = source.read("runs", { ...filter, cursor: null });
      // A list takes one tag.
      if ("tag" in filter) await expect(listed).rejects.toThrow("tag");
      else expect(await listed).toMatchObject({ isDone: true });
    }
    expect(await source.read("place", { runId })).toBeNull();
    expect(await source.read("poolUse", {})).toMatchObject({ holders: [], queue: [] });
    const pool = { name: "maxParallelism" };
    await source.write("overrideLimit", { ...pool, total: 3, lasts: "1 hour" });
    await source.write("pauseLimit", { ...pool, lasts: "1 hour" });
    const [limit] = await source.read("limits", {});
    expect(limit).toMatchObject({ ...pool, total: 3, paused: { by: "studio" } });
    await source.write("resumeLimit", pool);
    await source.write("resetLimit", pool);
    const [before] = await source.read("limits", {});
    expect(before).not.toHaveProperty("paused");
    expect(before).not.toHaveProperty("override");
    await source.write("repair", {});
    await source.write("cleanup", { runId });
    expect(await source.read("run", { runId })).toBeNull();
    expect(JSON.stringify(answers)).not.toContain("a-secret");
    await close();
    expect(clients.at(-1)).toMatchObject({ isClosed: true });
  },
);

test("without a deploy key, the source of --url may do what anybody may", async () => {
  vi.stubEnv("CONVEX_DEPLOY_KEY", undefined);
  const { source } = await openDeployment();
  expect(clients.at(-1)).toMatchObject({ keys: [] });
  await expect(source.read("runs", { cursor: null })).rejects.toThrow("Operators only");
  const seen = await new Promise((resolve) => source.watch("pool", {}, resolve, resolve));
  expect(String(seen)).toContain("Operators only");
  const start = { workflow: "parcel", input: { item: "a" } };
  await expect(source.write("start", start)).rejects.toThrow("Operators only");
});

test("arguments of another form are refused", async () => {
  const operator = back.t.withIdentity({ subject: "operator" });
  const calls = [
    { name: "runs", args: {} },
    { name: "toString", args: {} },
    { name: "run", args: { runId: 1 } },
  ];
  for (const call of calls)
    await expect(operator.query(read, { call })).rejects.toThrow(/[Vv]alidator/);
});

test("an authorize that gives false lets nobody in", async () => {
  const readRefused = makeFunctionReference<"query", { call: unknown }, any>("studio:readRefused");
  const writeRefused = makeFunctionReference<"mutation", { call: unknown }, any>(
    "studio:writeRefused",
  );
  const runs = { name: "runs", args: { cursor: null } };
  await expect(back.t.query(readRefused, { call: runs })).rejects.toThrow(
    'Not allowed: `authorize` refuses "runs"',
  );
  const start = { name: "start", args: { workflow: "parcel", input: { item: "a" } } };
  await expect(back.t.mutation(writeRefused, { call: start })).rejects.toThrow("Not allowed");
  const pool = { name: "pool", args: {} };
  expect(await back.t.query(readRefused, { call: pool })).toMatchObject({ running: 0 });
});

test("an authorize that gives neither true nor nothing lets nobody in", async () => {
  const call = { name: "pool", args: {} };
  const ask = (given: string) =>
    back.t.query(makeFunctionReference<"query", { call: unknown }>(`studio:readOf${given}`), {
      call,
    });
  for (const given of ["Null", "Zero", "Text"])
    await expect(ask(given)).rejects.toThrow('Not allowed: `authorize` refuses "pool"');
  expect(await ask("True")).toMatchObject({ running: 0 });
});

test("without authorize the functions are internal", async () => {
  const { read: open, inner } = (await back.load("studio")) as any;
  expect(open).toHaveProperty("isPublic", true);
  for (const each of [inner.read, inner.write]) {
    expect(each).toHaveProperty("isInternal", true);
    expect(each).not.toHaveProperty("isPublic");
  }
});

test(
  "a run of another app, and what is no run, can neither be seen nor steered",
  { tags: ["large"] },
  async () => {
    const operator = back.t.withIdentity({ subject: "operator" });
    const elsewhere = makeFunctionReference<"mutation", { call: unknown }, any>(
      "studio:writeElsewhere",
    );
    const start = {
      name: "start",
      args: { workflow: "order", input: { items: [], card: "visa" } },
    };
    // convex-test numbers the documents of each component from the same number.
    let foreign = "";
    for (let n = 0; n < 20; n++) foreign = await operator.mutation(elsewhere, { call: start });
    const document = await back.t.run(
      async (ctx) => await ctx.db.insert("notes", { text: "mine" }),
    );
    for (const runId of [foreign, document, "", "nobody", "__proto__", "🙈".repeat(1_000)]) {
      const reading = (name: string, args: object = {}) =>
        operator.query(read, { call: { name, args: { runId, ...args } } });
      expect(await reading("run")).toBeNull();
      expect(await reading("input")).toBeNull();
      await expect(reading("steps", { cursor: null })).rejects.toThrow("There is no run");
      const children = { name: "runs", args: { parent: runId, cursor: null } };
      expect(await operator.query(read, { call: children })).toMatchObject({ page: [] });
      for (const name of ["cancel", "pause", "resume", "restart", "cleanup"]) {
        const call = { name, args: { runId } };
        await expect(operator.mutation(write, { call })).rejects.toThrow("here is no");
      }
    }
  },
);

test("a page says when its deployment is away, and what it knew is shown again when it is back", () => {
  let tell: (value: unknown) => void = () => {};
  const connected = { isWebSocketConnected: true, hasEverConnected: true };
  let connect: (state: typeof connected) => void;
  const stopped: string[] = [];
  const client = {
    onUpdate: (_query: unknown, _args: unknown, onValue: typeof tell) => {
      tell = onValue;
      return () => void stopped.push("query");
    },
    connectionState: () => connected,
    subscribeToConnectionState: (listener: typeof connect) => {
      connect = listener;
      return () => void stopped.push("connection");
    },
  } as unknown as Client;
  const seen: unknown[] = [];
  const stop = deploymentSource(client, "studio").watch(
    "pool",
    {},
    (value) => seen.push(value),
    (error) => seen.push(error.message),
  );
  connect!({ isWebSocketConnected: false, hasEverConnected: false });
  tell("first");
  for (const isWebSocketConnected of [true, false, false, true])
    connect!({ isWebSocketConnected, hasEverConnected: true });
  tell("second");
  expect(seen).toEqual([
    "first",
    expect.stringContaining("The deployment does not answer"),
    "first",
    "second",
  ]);
  stop();
  expect(stopped).toEqual(["query", "connection"]);
});

test("so does a page that is opened while its deployment is away", () => {
  const client = {
    onUpdate: () => () => {},
    connectionState: () => ({ isWebSocketConnected: false, hasEverConnected: true }),
    subscribeToConnectionState: () => () => {},
  } as unknown as Client;
  const errors: string[] = [];
  const watch = deploymentSource(client, "studio").watch;
  watch("pool", {}, vi.fn(), (error) => errors.push(error.message));
  expect(errors).toEqual([expect.stringContaining("The deployment does not answer")]);
});
