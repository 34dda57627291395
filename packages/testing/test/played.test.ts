import { readFileSync } from "node:fs";
import { Deployment, type Faults, S16, seeded } from "@stepwise/testing";
import { anyApi } from "convex/server";
import { expect, test } from "vitest";
import schema from "./app/schema.js";

const modules = { "./app/tasks.ts": () => import("./app/tasks.js") };
const api: any = anyApi;

// As printed in the README:
test.each([1, 2, 3, 4])("seed %i: whatever dies, nothing is added twice", async (seed) => {
  const random = seeded(seed);
  const faults: Faults = { action: () => (random() < 0.5 ? "dies after report" : undefined) };
  const parts = [{ path: "", schema, modules }];
  const deployment = await Deployment.of(parts, { class: S16, seed, faults });
  deployment.at(0, () => deployment.action(api.tasks.busy, { text: "a", forMs: 100 }));
  deployment.at(200 * random(), () => deployment.crash());
  await deployment.drive();
  const texts = deployment.rows<{ text: string }>("", "tasks").map(({ text }) => text);
  expect(texts).toEqual([...new Set(texts)]);
});

test("the README shows this as it runs", () => {
  const read = (path: string) => readFileSync(new URL(path, import.meta.url), "utf8");
  const [, shown = ""] = /```ts\n(test\.each[^]*?)```/.exec(read("../README.md")) ?? [];
  expect(shown.length).toBeGreaterThan(0);
  expect(read("./played.test.ts")).toContain(shown);
});
