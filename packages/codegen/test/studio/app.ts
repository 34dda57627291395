import { dirname } from "node:path";
import { vi } from "vitest";
import { runProgram } from "../../src/cli/program.js";
import { convexConfig, writeApp, type TestApp } from "../dev-server/app.js";

const shop = `
  import { child, defineWorkflow } from "@stepwise/workflow";
  import { v } from "convex/values";
  import { z } from "zod";

  export const parcel = defineWorkflow({ input: z.object({ item: z.string() }) })
    .step("pack", { action: async (_ctx, { input }) => "packed " + input.item });

  export const order = defineWorkflow({ input: z.object({ items: z.array(z.string()), card: z.string() }) })
    .step("charge", {
      action: async (_ctx, { input }) => {
        if (input.card === "") throw new Error("no card <script>alert(1)</script>");
        return "charged";
      },
      retry: { maxAttempts: 2, initialBackoffMs: 1, base: 1 },
    })
    .event("approval", { schema: z.object({ by: z.string() }) })
    .parent("parcels", {
      children: ({ input }) => input.items.map((item) => child(parcel, { item })),
    })
    .step("secret", { action: async () => "4711", sensitive: true })
    .finalize({ query: (_ctx, { approval, parcels }) => ({ by: approval.by, parcels }) });

  export const vault = defineWorkflow({ input: z.object({ isOpen: z.boolean() }) })
    .event("code", { schema: z.object({ pin: z.string() }), sensitive: true })
    .step("open", {
      action: async (_ctx, { input, code }) => {
        if (!input.isOpen) throw new Error("not " + code.pin);
        return { gold: code.pin };
      },
      sensitive: true,
    });

  export const anything = defineWorkflow({
    input: v.object({
      value: v.any(),
      size: v.optional(v.union(v.literal("small"), v.literal("large"))),
      count: v.optional(v.int64()),
      file: v.optional(v.id("_storage")),
    }),
  }).step("keep", { query: async (_ctx, { input }) => input.value });
`;

const studio = `
  import { defineStudioApi } from "@stepwise/studio/api";
  import { components } from "./_generated/api";
  import { workflows } from "./_workflows";
  export const { read, write } = defineStudioApi(components.workflow, {
    workflows,
    authorize: async (ctx) => {
      if ((await ctx.auth.getUserIdentity())?.subject !== "operator") throw new Error("Operators only");
    },
  });
  export const inner = defineStudioApi(components.workflow, { workflows });
  export const elsewhere = defineStudioApi(components.elsewhere, { workflows });
  export const writeElsewhere = elsewhere.write;
`;

/** A second mount of the component has runs of its own. */
const both = `
  import { defineApp } from "convex/server";
  import workflow from "@stepwise/workflow/convex.config";
  const app = defineApp();
  app.use(workflow);
  app.use(workflow, { name: "elsewhere" });
  export default app;
`;

/** An app with an order that fails without a card, waits for an approval, and packs its items. */
export const writeShop = (config = convexConfig()): Promise<TestApp> =>
  writeApp({ "convex.config.ts": config, "shop.workflow.ts": shop, "studio.ts": studio });
/** The same, with a second mount of the component. */
export const writeShopTwice = (): Promise<TestApp> => writeShop(both);

export interface OpenStudio {
  /** Its address, with the token. */
  readonly url: string;
  readonly token: string;
  /** What it has printed. */
  printed(): string;
  close(): Promise<void>;
}

/** `workflow-codegen studio`, or another command that opens it, in an app, as a user runs it. */
export async function openStudio(
  { functionsDir }: TestApp,
  command = ["studio"],
): Promise<OpenStudio> {
  let text = "";
  const write = (more: string) => void (text += more);
  const interrupt = new AbortController();
  const terminal = {
    cwd: dirname(functionsDir),
    color: false,
    stdout: { write },
    stderr: { write },
    interrupted: interrupt.signal,
    exitCode: 0,
  };
  const ended = runProgram(terminal, command);
  const url = await vi.waitFor(
    () => {
      const [found] = /http:\S+/.exec(text) ?? [];
      if (found === undefined) throw new Error(`It has not opened yet: ${text}`);
      return found;
    },
    { timeout: 30_000, interval: 50 },
  );
  return {
    url,
    token: /token=([\w-]+)/.exec(url)?.[1] ?? "",
    printed: () => text,
    close: async () => {
      interrupt.abort();
      await ended;
    },
  };
}
