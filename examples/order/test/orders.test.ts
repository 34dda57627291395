import { expect, test, vi } from "vitest";
import { api } from "../convex/_generated/api";
import { workflows } from "../convex/_workflows/index";
import { newApp } from "./app";

const { fulfilOrder } = workflows;

/** An order for two of three kettles; `done` lists the calls to other services. */
async function newOrder({ quantity = 2 } = {}) {
  const { t, kit, days } = newApp();
  const done: string[] = [];
  kit.stub(fulfilOrder, "charged", ({ reserved }) => {
    done.push(`charged ${reserved.cents}`);
    return { chargeId: "ch1" };
  });
  kit.stub(
    fulfilOrder,
    "charged.compensate",
    ({ output }) => void done.push(`refunded ${output.chargeId}`),
  );
  kit.stub(fulfilOrder, "shipped", ({ reserved }) => {
    done.push(`shipped ${reserved.quantity} ${reserved.product}`);
    return { tracking: "T1" };
  });
  kit.stub(fulfilOrder, "told", ({ shipped }) => {
    done.push(`told ${shipped.tracking}`);
    return null;
  });
  const productId = await t.run(
    async (ctx) => await ctx.db.insert("products", { name: "kettle", cents: 4_000, inStock: 3 }),
  );
  const order = { productId, quantity, email: "ada@example.com", card: "tok_1" };
  const orderId = await t.mutation(api.orders.place, order);
  const [runId = ""] = await kit.runsOf(fulfilOrder);
  return {
    t,
    kit,
    days,
    done,
    orderId,
    runId,
    pack: async () => await t.mutation(api.orders.packed, { orderId, by: "robot 7" }),
    /** The stock, and the state of the order. */
    stored: async () =>
      await t.run(async (ctx) => {
        const product = await ctx.db.get("products", productId);
        return [product?.inStock, (await ctx.db.get("orders", orderId))?.state];
      }),
  };
}

test("an order is reserved, charged, packed and shipped", async () => {
  const { kit, done, runId, pack, stored } = await newOrder();
  await kit.settle();
  expect(await stored()).toEqual([1, "placed"]);
  await pack();
  expect(await kit.runToEnd(fulfilOrder, runId)).toMatchObject({ output: { tracking: "T1" } });
  expect(done).toEqual(["charged 8000", "shipped 2 kettle", "told T1"]);
  expect(await stored()).toEqual([1, "shipped"]);
});

test("an order for more than is in stock is not charged", async () => {
  const { kit, done, runId, stored } = await newOrder({ quantity: 4 });
  expect(await kit.runToEnd(fulfilOrder, runId)).toMatchObject({
    state: "failed",
    error: { node: "reserved", message: expect.stringContaining(`Only 3 of "kettle"`) },
  });
  expect(done).toEqual([]);
  expect(await stored()).toEqual([3, "canceled"]);
});

test("an order that cannot be shipped is refunded, then put back in stock", async () => {
  const { kit, done, runId, pack, stored } = await newOrder();
  kit.stub(fulfilOrder, "shipped", () => {
    throw new Error("No truck");
  });
  await kit.settle();
  await pack();
  expect(await kit.runToEnd(fulfilOrder, runId)).toMatchObject({
    state: "failed",
    error: { node: "shipped", message: "No truck", attempt: 5 },
  });
  expect(done).toEqual(["charged 8000", "refunded ch1"]);
  expect(await stored()).toEqual([3, "canceled"]);
  expect(await kit.timeline(runId)).toEqual([
    "reserved completed",
    "charged completed",
    "packed completed",
    "shipped failed, 5 attempts",
    "charged.compensate completed",
    "reserved.compensate completed",
  ]);
});

test("an order that is canceled before it is packed is rolled back", async () => {
  const { t, kit, done, orderId, runId, stored } = await newOrder();
  await kit.settle();
  expect(await t.mutation(api.orders.cancel, { orderId })).toBe(true);
  expect(await kit.runToEnd(fulfilOrder, runId)).toMatchObject({ state: "canceled" });
  expect(done).toEqual(["charged 8000", "refunded ch1"]);
  expect(await stored()).toEqual([3, "canceled"]);
  expect(await t.mutation(api.orders.cancel, { orderId })).toBe(false);
});

test("a refund is retried until it succeeds, and only then is the stock put back", async () => {
  const { t, kit, orderId, runId, stored } = await newOrder();
  const refund = vi.fn((_scope: unknown, { attempt }: { attempt: number }) => {
    if (attempt < 8) throw new Error("The bank is closed");
  });
  kit.stub(fulfilOrder, "charged.compensate", refund);
  await kit.settle();
  await t.mutation(api.orders.cancel, { orderId });
  await kit.settle();
  expect(await stored()).toEqual([1, "placed"]);
  await kit.runToEnd(fulfilOrder, runId);
  expect(refund).toHaveBeenCalledTimes(8);
  expect(await stored()).toEqual([3, "canceled"]);
});

test("an order that nobody packs is rolled back after two weeks", async () => {
  const { kit, days, done, runId, stored } = await newOrder();
  expect(await kit.skipToNextTimer()).toMatchObject([{ kind: "timeout", workflow: "fulfilOrder" }]);
  expect(days()).toBe(14);
  expect(await kit.runToEnd(fulfilOrder, runId)).toMatchObject({ state: "timedOut" });
  expect(done).toEqual(["charged 8000", "refunded ch1"]);
  expect(await stored()).toEqual([3, "canceled"]);
});

test("a mail that cannot be sent does not roll the order back", async () => {
  const { kit, runId, pack, stored } = await newOrder();
  kit.stub(fulfilOrder, "told", () => {
    throw new Error("The mail server is down");
  });
  await kit.settle();
  await pack();
  expect(await kit.runToEnd(fulfilOrder, runId)).toMatchObject({ state: "completed" });
  expect(await stored()).toEqual([1, "shipped"]);
});

test("only the customer can cancel an order", async () => {
  const { t, orderId } = await newOrder();
  const other = t.withIdentity({ subject: "grace" });
  await expect(other.mutation(api.orders.cancel, { orderId })).rejects.toThrow("not your order");
});
