/** @module-tag large */
import { readFile, writeFile } from "node:fs/promises";
import { request } from "node:http";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import type { TestApp } from "../dev-server/app.js";
import { openStudio, writeShop, type OpenStudio } from "./app.js";

let app: TestApp;
let studio: OpenStudio;
beforeAll(async () => {
  app = await writeShop();
  studio = await openStudio(app);
}, 60_000);
afterAll(async () => {
  await studio.close();
  await app.remove();
});

const token = () => studio.url.split("token=")[1]!;
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
  await vi.waitFor(async () => expect((await run(runId)).state).toBe(state), { timeout: 10_000 });

test("a run is started, goes on by an event, and is shown with its results, but none that is sensitive", async () => {
  const runId = await started("visa");
  await vi.waitFor(async () =>
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
  await ask("/write/cancel", { runId });
  await isAt(runId, "canceled");
  await ask("/write/cleanup", { runId });
  expect(await run(runId)).toBeNull();
});

test("what is watched is told anew when it changes", async () => {
  const runId = await started("visa");
  const stop = new AbortController();
  const response = await fetch(address("/watch/run"), {
    method: "POST",
    headers: { authorization: `Bearer ${token()}` },
    body: JSON.stringify({ runId }),
    signal: stop.signal,
  });
  let told = "";
  void (async () => {
    for await (const part of response.body!) told += Buffer.from(part as Uint8Array).toString();
  })().catch(() => {});
  await vi.waitFor(() => expect(told).toContain('"approval"'), { timeout: 10_000 });
  await ask("/write/cancel", { runId });
  await vi.waitFor(() => expect(told).toContain('"state":"canceled"'), { timeout: 10_000 });
  stop.abort();
});

test("a save is taken in, and runs are kept", async () => {
  const before = await started("visa");
  const file = join(app.functionsDir, "shop.workflow.ts");
  const text = await readFile(file, "utf8");
  await writeFile(file, text.replace('"packed "', '"wrapped "'));
  await vi.waitFor(
    async () => {
      const runId = (await ask("/write/start", { workflow: "parcel", input: { item: "c" } })).body;
      await isAt(runId as string, "completed");
      expect(await run(runId as string)).toMatchObject({ output: "wrapped c" });
    },
    { timeout: 20_000, interval: 300 },
  );
  expect(await run(before)).toMatchObject({ state: "running" });
});

test("each workflow comes with an input of its form", async () => {
  expect((await ask("/read/workflows", {})).body).toEqual([
    expect.objectContaining({ name: "order", example: { items: [], card: "" } }),
    { name: "parcel", nodes: ["pack"], example: { item: "" } },
  ]);
});

test.each([
  ["no token", "/read/workflows", {}, { authorization: "" }, 401],
  ["another token", "/read/workflows", {}, { authorization: `Bearer ${"x".repeat(32)}` }, 401],
  ["another origin", "/read/workflows", {}, { origin: "http://example.com" }, 403],
  ["a name that only objects have", "/read/constructor", {}, {}, 404],
  ["a function for the other kind", "/read/cancel", { runId: "x" }, {}, 404],
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

test("it answers under its own address alone", async () => {
  expect(await statusFor(address("/").host)).toBe(200);
  expect(await statusFor("example.com")).toBe(403);
  for (const path of ["/../package.json", "/%2e%2e/package.json", "/assets/..%2findex.html"])
    expect((await fetch(address(path))).status).toBe(404);
  const page = await fetch(address("/"));
  expect(page.headers.get("content-security-policy")).toContain("default-src 'none'");
});
