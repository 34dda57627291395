/** @module-tag large */
import { readFile, writeFile } from "node:fs/promises";
import { request } from "node:http";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { TestApp } from "../../packages/codegen/test/dev-server/app.js";
import { eventually, openStudio, writeShop, type OpenStudio } from "./app.js";

let app: TestApp;
let studio: OpenStudio;
beforeAll(async () => {
  app = await writeShop();
  studio = await openStudio(app);
});
afterAll(async () => {
  await studio.close();
  await app.remove();
});

const token = () => studio.token;
const address = (path: string) => new URL(path, studio.url);

/** A request as the page makes it. */
async function ask(path: string, args: unknown, headers: Record<string, string> = {}) {
  const response = await fetch(address(path), {
    method: "POST",
    headers: { authorization: `Bearer ${token()}`, ...headers },
    body: typeof args === "string" ? args : JSON.stringify(args),
  });
  return { status: response.status, body: (await response.json()) as any };
}

/** A request with a Host that fetch would not send. */
const statusFor = (host: string) =>
  new Promise<number | undefined>((resolve, reject) => {
    const { port } = address("/");
    const asked = request({ host: "127.0.0.1", port, path: "/", headers: { host } }, (response) => {
      response.resume();
      resolve(response.statusCode);
    });
    asked.on("error", reject);
    asked.end();
  });

const started = async (card: string) => {
  const input = { items: ["a", "b"], card };
  return (await ask("/write/start", { workflow: "order", input })).body as string;
};
const run = async (runId: string) => (await ask("/read/run", { runId })).body;
const isAt = async (runId: string, state: string) =>
  await eventually(async () => expect((await run(runId)).state).toBe(state));

test("a run is started, goes on by an event, and is shown with its results, but none that is sensitive", async () => {
  const runId = await started("visa");
  await eventually(async () =>
    expect((await run(runId)).active).toMatchObject([{ node: "approval", events: ["approval"] }]),
  );
  await ask("/write/sendEvent", { runId, name: "approval", payload: { by: "Ada" } });
  await isAt(runId, "completed");
  expect(await run(runId)).toMatchObject({
    output: { by: "Ada", parcels: { children: ["packed a", "packed b"] } },
  });
  expect((await ask("/read/input", { runId })).body).toEqual({ items: ["a", "b"], card: "visa" });
  const steps = JSON.stringify((await ask("/read/steps", { runId, cursor: null })).body);
  expect(steps).toContain('"node":"charge"');
  expect(steps).not.toContain("4711");
  const children = (await ask("/read/runs", { parent: runId, cursor: null })).body;
  expect(children.page).toHaveLength(2);
});

test("a run is paused, resumed, canceled, restarted and removed", async () => {
  const runId = await started("visa");
  expect((await ask("/write/pause", { runId })).body).toBe(true);
  expect(await run(runId)).toMatchObject({ paused: true });
  expect((await ask("/write/resume", { runId })).body).toBe(true);
  expect((await ask("/write/cancel", { runId })).body).toBe(true);
  await isAt(runId, "canceled");
  expect((await ask("/write/restart", { runId })).status).toBe(200);
  expect(await run(runId)).toMatchObject({ generation: 2 });
  const unfit = await ask("/write/restart", { runId, input: { items: [] } });
  expect([unfit.status, unfit.body.error]).toEqual([422, expect.stringContaining("input.card")]);
  await ask("/write/cancel", { runId });
  await isAt(runId, "canceled");
  await ask("/write/cleanup", { runId });
  expect(await run(runId)).toBeNull();
});

test("what is watched is told anew when it changes, until nobody watches it", async () => {
  const runId = await started("visa");
  const stop = new AbortController();
  const headers = { authorization: `Bearer ${token()}` };
  const response = await fetch(address("/live"), { method: "POST", headers, signal: stop.signal });
  let told = "";
  void (async () => {
    for await (const part of response.body!) told += Buffer.from(part as Uint8Array).toString();
  })().catch(() => {});
  await eventually(() => expect(told).toContain("session"));
  const { session } = JSON.parse(told) as { session: string };
  await ask("/watch/run", { session, id: 1, args: { runId } });
  await ask("/watch/run", { session, id: 2, args: { runId } });
  await eventually(() => expect(told).toContain('{"id":2,"value":'));
  await eventually(() => expect(told).toContain('"approval"'));
  await ask("/unwatch", { session, id: 2 });
  await ask("/write/cancel", { runId });
  await eventually(() => expect(told).toContain('"state":"canceled"'));
  const last = told.split("\n").filter((line) => line.includes('"state":"canceled"'));
  expect(last.map((line) => (JSON.parse(line) as { id: number }).id)).toEqual([1]);
  stop.abort();
  await eventually(async () =>
    expect(await ask("/watch/run", { session, id: 3, args: { runId } })).toMatchObject({
      status: 409,
    }),
  );
});

test("a save is taken in, and runs are kept", async () => {
  const before = await started("visa");
  const file = join(app.functionsDir, "shop.workflow.ts");
  const text = await readFile(file, "utf8");
  await writeFile(file, text.replace('"packed "', '"wrapped "'));
  await eventually(async () => {
    const runId = (await ask("/write/start", { workflow: "parcel", input: { item: "c" } })).body;
    await isAt(runId as string, "completed");
    expect(await run(runId as string)).toMatchObject({ output: "wrapped c" });
  });
  expect(await run(before)).toMatchObject({ state: "running" });
});

test("each workflow comes with the form of its input, and an example", async () => {
  const field = (name: string, shape: object, more = {}) => ({
    name,
    shape,
    isOptional: false,
    ...more,
  });
  expect((await ask("/read/workflows", {})).body).toMatchObject([
    {
      name: "anything",
      input: {
        kind: "object",
        fields: [
          field("value", { kind: "other", example: {} }),
          field("size", { kind: "choice", values: ["small", "large"] }, { isOptional: true }),
          field("count", { kind: "int64" }, { isOptional: true }),
          field("file", { kind: "string" }, { isOptional: true, about: "id of _storage" }),
        ],
      },
      example: { value: {} },
    },
    {
      name: "order",
      input: {
        kind: "object",
        fields: [
          field("items", { kind: "lines", of: "string" }),
          field("card", { kind: "string" }),
        ],
      },
      example: { items: [], card: "" },
      events: [
        {
          name: "approval",
          payload: { kind: "object", fields: [field("by", { kind: "string" })] },
          example: { by: "" },
        },
      ],
    },
    { name: "parcel", nodes: ["pack"], example: { item: "" } },
    { name: "vault", input: { fields: [field("isOpen", { kind: "boolean" })] } },
  ]);
});

test.each([true, false])(
  "nothing of a sensitive node is in any answer; it gives a result: %s",
  async (isOpen) => {
    const start = { workflow: "vault", input: { isOpen }, key: `vault ${isOpen}` };
    const runId = (await ask("/write/start", start)).body as string;
    await ask("/write/sendEvent", { runId, name: "code", payload: { pin: "s3cret" } });
    await isAt(runId, isOpen ? "completed" : "failed");
    if (isOpen) expect(await run(runId)).toMatchObject({ isSensitive: true });
    const answers = await Promise.all([
      ask("/read/run", { runId }),
      ask("/read/input", { runId }),
      ask("/read/steps", { runId, cursor: null }),
      ask("/read/runs", { workflow: "vault", cursor: null }),
      ask("/read/pool", {}),
      ask("/about", {}),
    ]);
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200));
    expect(JSON.stringify(answers)).toContain(runId);
    expect(JSON.stringify(answers)).not.toContain("s3cret");
  },
);

const nested = (depth: number): unknown => (depth === 0 ? "deep" : [nested(depth - 1)]);

test("texts of any kind and size come back as they were", async () => {
  const script = "</script><script>alert(1)</script>\"'\u2028\u0000🙈";
  for (const value of [script, script.repeat(10_000), nested(10)]) {
    const start = { workflow: "anything", input: { value }, key: script };
    const runId = (await ask("/write/start", start)).body as string;
    await isAt(runId, "completed");
    expect(await run(runId)).toMatchObject({ output: value, key: script });
    expect((await ask("/read/input", { runId })).body).toEqual({ value });
    const found = await ask("/read/runs", { workflow: "anything", key: script, cursor: null });
    expect(found.body.page).toMatchObject([{ runId, key: script }]);
    await ask("/write/cleanup", { runId });
  }
});

test.each([
  ["200,000 lists in each other", "[".repeat(200_000) + "]".repeat(200_000)],
  ["a value that is nested too deep", { workflow: "anything", input: { value: nested(100) } }],
  ["a field that Convex has no name for", { workflow: "anything", input: { value: { $x: 1 } } }],
  ["more than a document holds", { workflow: "anything", input: { value: "x".repeat(1.5e6) } }],
  ["a workflow that is a script", { workflow: "<script>", input: {} }],
])("%s starts nothing, and the studio goes on", async (_what, body) => {
  const count = async () => (await ask("/read/runs", { cursor: null })).body.page.length as number;
  const before = await count();
  const answer = await ask("/write/start", body);
  expect(answer.status).toBe(422);
  expect(answer.body.error).toBeTypeOf("string");
  expect(await count()).toBe(before);
  await ask("/write/start", {
    workflow: "anything",
    input: JSON.parse('{ "value": { "__proto__": { "polluted": true } } }') as object,
  });
  expect({}).not.toHaveProperty("polluted");
});

test("runs are found by their key, and by when they were created", async () => {
  const start = async (key: string) =>
    (await ask("/write/start", { workflow: "parcel", input: { item: "a" }, key })).body as string;
  const [second, first] = [await start("box 2"), await start("box 1")];
  await start("bag");
  const found = async (filter: object) => {
    const { page } = (await ask("/read/runs", { workflow: "parcel", cursor: null, ...filter }))
      .body as { page: { runId: string; key?: string }[] };
    return page.map(({ runId }) => runId);
  };
  expect(await found({ key: "box" })).toEqual([first, second]);
  expect(await found({ key: "box 1" })).toEqual([first]);
  expect(await found({ key: "box 1", until: 1_000 })).toEqual([]);
  expect(await found({ until: 1_000 })).toEqual([]);
  expect((await found({ since: 1_000 })).slice(1, 3)).toEqual([first, second]);
});

test.each([
  ["no token", "/read/workflows", {}, { authorization: "" }, 401],
  ["another token", "/read/workflows", {}, { authorization: `Bearer ${"x".repeat(32)}` }, 401],
  ["another origin", "/read/workflows", {}, { origin: "http://example.com" }, 403],
  ["a name that only objects have", "/read/constructor", {}, {}, 404],
  ["a function for the other kind", "/read/cancel", { runId: "x" }, {}, 404],
  ["a watch of no page", "/watch/run", { session: "x", id: 1, args: { runId: "x" } }, {}, 409],
  ["no JSON", "/read/runs", "{", {}, 422],
  ["more than 2 MiB", "/write/start", JSON.stringify("x".repeat(3 << 20)), {}, 413],
  ["an unknown run", "/write/cancel", { runId: "nobody" }, {}, 422],
  ["an input that does not fit", "/write/start", { workflow: "order", input: {} }, {}, 422],
  ["an unknown workflow", "/write/start", { workflow: "__proto__", input: {} }, {}, 422],
])("%s is refused", async (_what, path, args, headers, status) => {
  const answer = await ask(path, args, headers);
  expect(answer.status).toBe(status);
  expect(answer.body.error).toBeTypeOf("string");
});

test("the page is a bundle of less than 250 kB, zipped", async () => {
  const text = async (path: string) => await (await fetch(address(path))).text();
  const html = await text("/");
  const assets = [...html.matchAll(/(?:src|href)="\.(\/assets\/[^"]+)"/g)].map(([, path]) => path!);
  expect(assets).toHaveLength(2);
  const sizes = await Promise.all(assets.map(async (path) => gzipSync(await text(path)).length));
  expect(sizes[0]! + sizes[1]!).toBeLessThan(250_000);
});

test("it answers under its own address alone", async () => {
  expect(await statusFor(address("/").host)).toBe(200);
  expect(await statusFor("example.com")).toBe(403);
  for (const path of ["/../package.json", "/%2e%2e/package.json", "/assets/..%2findex.html"])
    expect((await fetch(address(path))).status).toBe(404);
  // Another address of this machine.
  await expect(fetch(`http://127.0.0.2:${address("/").port}`)).rejects.toThrow();
  const page = await fetch(address("/"));
  expect(page.headers.get("content-security-policy")).toContain("default-src 'none'");
});
