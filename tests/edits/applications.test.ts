/** @module-tag large */
import { readFile } from "node:fs/promises";
import { expect, test, vi } from "vitest";
import { Deployment, type Files, released, useReleases } from "./deployed.js";

/* The applications of the guide, as they stand there, do what the guide says. */

const guide = await readFile(new URL("../../docs/guides/applications.md", import.meta.url), "utf8");
const blocks = new Map(
  [...guide.matchAll(/^```ts\n\/\/ convex\/(\S+)\n([^]*?)^```/gm)].map(
    ([, path = "", code = ""]) => [path, code],
  ),
);
const server = {
  "_generated/server.js": `export { internalMutationGeneric as internalMutation } from "convex/server";`,
};
const filesOf = (...paths: string[]): Files => ({
  ...server,
  ...Object.fromEntries(paths.map((path) => [path, blocks.get(path) ?? ""])),
});

const releases = useReleases();

async function deployed(...versions: Files[]) {
  const all = await released(releases, ...versions);
  return { deployment: new Deployment(all[0]!, all), versions: all };
}

test("an ingestion goes on without a page, and notes its end", async () => {
  const models = `export const pagesOf = async () => ["a", "b", "", "d", "e", "f", "g", "h", "i", "j"];
export const embed = async (text: string) => { if (text === "") throw new Error("empty"); return [1]; };`;
  const { deployment } = await deployed({
    ...filesOf("ingestion.workflow.ts"),
    "models.ts": models,
  });
  const id = await deployment.call("start", { name: "ingest", input: { url: "u" } });
  await deployment.drive();
  expect(await deployment.see(id as string)).toMatchObject({
    state: "completed",
    output: { missing: 1 },
  });
});

test("changes of a customer are copied in order, by one run until a day is over", async () => {
  const crm = `let calls = 0;
export const push = async (customer: string, change: { version: number }) => {
    if (calls++ % 2 === 0) throw new Error("busy"); return change.version; };`;
  const paths = ["customers.workflow.ts", "customers.ts"];
  const { deployment } = await deployed({ ...filesOf(...paths), "crm.ts": crm });
  const change = async (version: number) =>
    await deployment.call("customers:changed", { customer: "c", version, email: "e" });
  expect([await change(1), await change(2), await change(3)]).toEqual(["kept", "kept", "kept"]);
  await deployment.drive();
  const [first, ...others] = await deployment.rows("runs");
  expect(others).toEqual([]);
  expect(await deployment.see(first!._id)).toMatchObject({
    state: "completed",
    output: { version: 3 },
  });
  await change(4);
  expect(await deployment.rows("runs")).toHaveLength(2);
});

test("a migration is restarted in the page that has failed", async () => {
  const seed = {
    "seed.ts": `import { internalMutation } from "./_generated/server";
export const users = internalMutation(async (ctx) => {
  for (let n = 0; n < 250; n++) await ctx.db.insert("users", { n });
});`,
  };
  const now = { ...filesOf("migration.workflow.ts", "migrations.ts"), ...seed };
  const definition = blocks.get("migration.workflow.ts") ?? "";
  const broken = definition.replace(
    "await ctx.db.patch(",
    "if (user.n === 150) throw new Error(`row ${user.n}`); else await ctx.db.patch(",
  );
  const { deployment, versions } = await deployed({ ...now, "migration.workflow.ts": broken }, now);
  await deployment.call("seed:users", {});
  const id = (await deployment.call("start", { name: "migrate", input: {} })) as string;
  await deployment.drive();
  expect((await deployment.see(id)).error?.message).toContain("row 150");
  const pages = async () =>
    (await deployment.rows("steps")).filter(({ stage }) => stage === "pages.page");
  expect(await pages()).toHaveLength(2);
  deployment.deploy(versions[1]!);
  await deployment.call("migrations:again", { runId: id });
  await deployment.drive();
  expect(await deployment.see(id)).toMatchObject({ state: "completed", output: { isDone: true } });
});

test.each([
  ["is answered at night", 1, "answered", "2026-07-01T01:00:00Z"],
  [
    "is escalated a day after the opening",
    undefined,
    "t goes to the manager",
    "2026-07-02T07:00:00Z",
  ],
])("a ticket %s", async (_what, hours, text, at) => {
  const { deployment } = await deployed(filesOf("tickets.workflow.ts"));
  vi.setSystemTime(Date.parse("2026-07-01T00:00:00Z"));
  const input = { ticket: "t", zone: "Europe/Berlin" };
  const runId = await deployment.call("start", { name: "ticket", input });
  if (hours !== undefined) {
    const answersAt = Date.now() + hours * 3_600_000;
    setTimeout(() => {}, hours * 3_600_000);
    await deployment.drive(() => Date.now() >= answersAt);
    const value = { text: "answered" };
    await deployment.call("send", { name: "ticket", runId, event: "answer", value });
  }
  await deployment.drive(async () => (await deployment.see(runId as string)).state === "completed");
  expect(await deployment.see(runId as string)).toMatchObject({ output: { text } });
  expect(new Date().toISOString().slice(0, 16)).toBe(at.slice(0, 16));
});
