import { dirname } from "node:path";
import { vi } from "vitest";
import { runProgram } from "../../src/cli/program.js";
import { convexConfig, writeApp, type TestApp } from "../dev-server/app.js";

const shop = `
  import { child, defineWorkflow } from "@stepwise/workflow";
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
`;

/** An app with an order that fails without a card, waits for an approval, and packs its items. */
export const writeShop = (): Promise<TestApp> =>
  writeApp({ "convex.config.ts": convexConfig(), "shop.workflow.ts": shop, "studio.ts": studio });

export interface OpenStudio {
  /** Its address, with the token. */
  readonly url: string;
  /** What it has printed. */
  printed(): string;
  close(): Promise<void>;
}

/** `workflow-codegen studio` in an app, as a user runs it. */
export async function openStudio({ functionsDir }: TestApp): Promise<OpenStudio> {
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
  const ended = runProgram(terminal, ["studio"]);
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
    printed: () => text,
    close: async () => {
      interrupt.abort();
      await ended;
    },
  };
}
