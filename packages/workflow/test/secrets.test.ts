import { describe, expect, test } from "vitest";
import type { Page, TimelineEntry } from "../src/index.js";
import { components, internal } from "./convex/_generated/api.js";
import { useTestApp } from "./harness.js";

const use = useTestApp();
const CARDS = [{ number: "s3cret", kind: "visa" }];

async function timeline(name: string, runId: string): Promise<TimelineEntry[]> {
  const page = { numItems: 500, cursor: null };
  const found = await use.app.counter.uncounted(() =>
    use.app.t.query(internal.manager.steps, { name, runId, page }),
  );
  return (found as unknown as Page<TimelineEntry>).page;
}

/** Neither views, lists, logs, errors nor scheduled arguments have the secret. */
async function expectNothingShown(name: string, runId: string): Promise<void> {
  const jobs = await use.app.jobs();
  const page = { numItems: 100, cursor: null };
  const [children, runs] = await use.app.counter.uncounted(() =>
    Promise.all([
      use.app.t.query(components.workflow.listing.runs, { parent: runId, page }),
      use.app.t.query(components.workflow.listing.runs, { page }),
    ]),
  );
  const tree = await use.app.t.query(components.workflow.views.tree, { runId });
  const input = await use.app.t.query(components.workflow.views.input, { runId });
  const status = await use.app.status(name, runId);
  const all = [jobs, children, runs, tree, input, status, await timeline(name, runId)];
  expect(JSON.stringify(all)).not.toMatch(/s3cr[eé]t/);
}

describe("secrets", () => {
  test("[S97] what a child gives is as secret as the node of the child that made it", async () => {
    const id = await use.app.start("confides", {});
    await use.app.drive();
    expect(await use.app.status("confides", id)).toMatchObject({ output: 6 });
    const jobs = await use.app.jobs();
    expect(JSON.stringify(jobs)).not.toContain("s3cret");
    expect(JSON.stringify(await timeline("confides", id))).not.toContain("s3cret");
  });

  test.each(["gathersSecrets", "gathersBelow"])(
    "[S97] what a parent gathers is as secret as what its children give: %s",
    async (name) => {
      const id = await use.app.start(name, {});
      await use.app.drive();
      expect(await use.app.status(name, id)).toMatchObject({
        state: "completed",
        output: name === "gathersBelow" ? 38 : [6, 6, 12, 6, 6],
      });
      await expectNothingShown(name, id);
      const secret = (await timeline(name, id)).filter(({ isSensitive }) => isSensitive);
      expect(secret.map(({ node }) => node)).toEqual(
        name === "gathersBelow" ? ["below"] : ["plain", "tolerant", "reduced"],
      );
    },
  );

  test.each([
    ["sleepsSecretly", {}, "nap", /message is not shown, as the node reads what is sensitive$/],
    ["branchesSecretly", {}, "way", /message is not shown/],
    ["waitsSecretly", {}, "late", /message is not shown/],
    ["loopsSecretly", {}, "again.fails", /^after 6$/],
    [
      "namesSecretly",
      { what: "name" },
      "token",
      /^What it gives cannot be stored: details are not/,
    ],
    [
      "namesSecretly",
      { what: "place" },
      "token",
      /has 9000 elements; a list can have at most 8192/,
    ],
  ])("[S97] an error tells nothing of a secret: %s %o", async (name, input, node, message) => {
    const id = await use.app.start(name, input);
    await use.app.drive();
    expect(await use.app.status(name, id)).toMatchObject({
      state: "failed",
      error: { node, message: expect.stringMatching(message) },
    });
    await expectNothingShown(name, id);
  });

  test.each(["card", "output"])("[S97] an onEnd tells nothing of a secret: %s", async (user) => {
    const id = await use.app.start("endsSecretly", { user, cards: CARDS });
    await use.app.drive();
    expect(await use.app.status("endsSecretly", id)).toMatchObject({
      state: "completed",
      onEndError: expect.stringMatching(/message is not shown, as the node reads/),
    });
    await expectNothingShown("endsSecretly", id);
  });

  test("[S97] status has no output of a sensitive last node", async () => {
    const id = await use.app.start("keepsSecret", {});
    await use.app.drive();
    const status = await use.app.status("keepsSecret", id);
    expect(status).toMatchObject({ state: "completed", isSensitive: true });
    expect(status).not.toHaveProperty("output");
    await expectNothingShown("keepsSecret", id);
  });
});

describe("[S143] a sensitive input", () => {
  const shown = async (runId: string) =>
    await use.app.t.query(components.workflow.views.input, { runId });

  test.each(["works", "fails"])(
    "is not shown, nor passed along, of a run that %s",
    async (user) => {
      const id = await use.app.start("paysByCard", { user, cards: CARDS });
      await use.app.drive();
      expect(await use.app.status("paysByCard", id)).toMatchObject(
        user === "works"
          ? { state: "completed", output: "works" }
          : { state: "failed", error: { node: "noted", message: "declined" } },
      );
      expect(await shown(id)).toEqual({ user, cards: [{ kind: "visa" }] });
      await expectNothingShown("paysByCard", id);
    },
  );

  test("is not shown of a child, nor of a restarted run", async () => {
    const id = await use.app.start("paysByCard", { user: "works", cards: CARDS });
    await use.app.drive();
    const args = { name: "paysByCard", runId: id, input: { user: "again", cards: CARDS } };
    await use.app.t.mutation(internal.manager.restart, args);
    await use.app.drive();
    expect(await shown(id)).toEqual({ user: "again", cards: [{ kind: "visa" }] });
    await expectNothingShown("paysByCard", id);
  });

  test("that does not fit is refused with the path alone", async () => {
    const start = (cards: unknown) => use.app.start("paysByCard", { user: 1, cards });
    await expect(start([{ number: "s3c", kind: 1 }])).rejects.toThrow(
      /input\.user: .*\n {2}input\.cards\.number: why is not shown.*\n {2}input\.cards\.0\.kind: /,
    );
    await expect(start([{ number: "s3c", kind: "visa" }])).rejects.not.toThrow(/s3cret/);
    const id = await use.app.start("givesCards", {});
    await use.app.drive();
    await expectNothingShown("givesCards", id);
  });

  test("is not shown of a field whose name has a dot or a colon in it", async () => {
    const input = { "v1.2": "s3cret", a: { "b.c": "s3cret", d: "d" }, "e:f": "s3cret" };
    const id = await use.app.start("oddlyNamed", input);
    expect(await shown(id)).toEqual({ a: { d: "d" } });
    await expect(use.app.start("oddlyNamed", { ...input, "e:f": "an s3cret" })).rejects.toThrow(
      /input\.e:f: why is not shown, as it is sensitive$/,
    );
  });

  test.each(["works", "fails"])("of `true`, every node is sensitive too: %s", async (user) => {
    const id = await use.app.start("allSecret", { user, cards: CARDS });
    await use.app.drive(
      async () => (await use.app.status("allSecret", id))?.active[0]?.node === "code",
    );
    const send = (payload: string) =>
      use.app.t.mutation(internal.manager.sendEvent, {
        name: "allSecret",
        run: id,
        event: "code",
        payload,
      });
    await expect(send("wrong")).rejects.toThrow(/code: why is not shown, as it is sensitive/);
    await send("s3cret");
    await use.app.drive();
    expect(await use.app.status("allSecret", id)).not.toHaveProperty("input");
    expect(await use.app.status("allSecret", id)).toMatchObject(
      user === "works"
        ? { state: "completed", isSensitive: true }
        : { error: { message: "The message is not shown, as the node is sensitive" } },
    );
    expect(await shown(id)).toBeNull();
    await expectNothingShown("allSecret", id);
    expect((await timeline("allSecret", id)).map(({ isSensitive }) => isSensitive)).toEqual([
      true,
      true,
      true,
    ]);
  });
});
