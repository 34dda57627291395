import { makeFunctionReference } from "convex/server";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { openBackEnd, type BackEnd } from "../../src/dev-server/back-end.js";
import type { TestApp } from "../dev-server/app.js";
import { writeShop } from "./app.js";

let app: TestApp;
let back: BackEnd;
beforeAll(async () => {
  app = await writeShop();
  back = await openBackEnd(app.functionsDir);
}, 60_000);
afterAll(async () => {
  back.close();
  await app.remove();
});

const read = makeFunctionReference<"query", { call: unknown }, any>("studio:read");
const write = makeFunctionReference<"mutation", { call: unknown }, any>("studio:write");

test("only who is authorised sees or steers anything", async () => {
  const call = { name: "runs", args: { cursor: null } };
  await expect(back.t.query(read, { call })).rejects.toThrow("Operators only");
  const start = { name: "start", args: { workflow: "parcel", input: { item: "a" } } };
  await expect(back.t.mutation(write, { call: start })).rejects.toThrow("Operators only");
  const operator = back.t.withIdentity({ subject: "operator" });
  const runId = await operator.mutation(write, { call: start });
  await vi.waitFor(
    async () =>
      expect(await operator.query(read, { call })).toMatchObject({
        page: [{ runId, state: "completed" }],
      }),
    { timeout: 10_000 },
  );
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

test("without authorize the functions are internal", async () => {
  const { read: open, inner } = (await back.load("studio")) as any;
  expect(open).toHaveProperty("isPublic", true);
  for (const each of [inner.read, inner.write]) {
    expect(each).toHaveProperty("isInternal", true);
    expect(each).not.toHaveProperty("isPublic");
  }
});
