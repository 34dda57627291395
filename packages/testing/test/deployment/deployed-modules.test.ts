import { anyApi, defineSchema, internalQueryGeneric } from "convex/server";
import { expect, test } from "vitest";
import { Deployment } from "../../src/index.js";

const query = internalQueryGeneric({ handler: () => 1 });

/** As convex.config.ts does outside of Convex. */
const refuse = async () => {
  throw new Error("This code only works in Convex's own runtime");
};

test("the modules of a whole app can be deployed: what holds no functions is not loaded", async () => {
  const modules = {
    "../convex/_generated/api.js": async () => ({}),
    "../convex/convex.config.ts": refuse,
    "../convex/billing/convex.config.ts": refuse,
    "../convex/auth.config.ts": refuse,
    "../convex/orders.test.ts": refuse,
    "../convex/orders.workflow.tsx": refuse,
    "../convex/#draft.ts": refuse,
    "../convex/.hidden.ts": refuse,
    "../convex/orders copy.ts": refuse,
    "../convex/README.md": refuse,
    "../convex/tsconfig.json": refuse,
    "../convex/schema.ts": refuse,
    "../convex/orders.ts": async () => ({ one: query }),
    "../convex/deep/schema.ts": async () => ({ one: query }),
  };
  const schema = defineSchema({});
  const deployment = await Deployment.of([{ path: "", schema, modules }]);
  const answers = Promise.all([
    deployment.query(anyApi["orders"]!["one"] as never, {}),
    deployment.query(anyApi["deep"]!["schema"]!["one"] as never, {}),
  ]);
  await deployment.drive();
  expect(await answers).toEqual([1, 1]);
});
