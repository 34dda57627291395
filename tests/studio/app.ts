import { AsyncLocalStorage } from "node:async_hooks";
import { dirname } from "node:path";
import type { Client } from "@stepwise/studio";
import type { ConvexClient } from "convex/browser";
import { vi } from "vitest";
import { runProgram } from "../../packages/codegen/src/cli/program.js";
import { studio } from "../../packages/codegen/src/cli/studio.js";
import type { Terminal } from "../../packages/codegen/src/cli/terminal.js";
import { type BackEnd, openBackEnd } from "../../packages/codegen/src/dev-server/back-end.js";
import {
  convexConfig,
  writeApp,
  type TestApp,
} from "../../packages/codegen/test/dev-server/app.js";

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

const studioApi = `
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
  export const refusing = defineStudioApi(components.workflow, {
    workflows,
    authorize: (_ctx, call) => (call.name === "pool" ? true : Promise.resolve(false)),
  });
  export const readRefused = refusing.read;
  export const writeRefused = refusing.write;
  // What is read of documents has the type any.
  const saying = (given: any) => defineStudioApi(components.workflow, { workflows, authorize: async () => given }).read;
  export const readOfNull = saying(null);
  export const readOfZero = saying(0);
  export const readOfText = saying("no");
  export const readOfTrue = saying(true);
  export const elsewhere = defineStudioApi(components.elsewhere, { workflows });
  export const writeElsewhere = elsewhere.write;
`;

const trips = `
  import { child, defineWorkflow } from "@stepwise/workflow";
  import { ConvexError } from "convex/values";
  import { z } from "zod";

  export const ticket = defineWorkflow({ input: z.object({ seat: z.string() }) })
    .step("reserve", {
      action: async (_ctx, { input }) => {
        throw new ConvexError({ taken: input.seat });
      },
    });

  export const trip = defineWorkflow({ input: z.object({ seats: z.array(z.string()) }) })
    .step("hotel", {
      action: async () => "a room",
      compensate: {
        action: async () => {
          throw new Error("the hotel keeps the money");
        },
      },
    })
    .parent("tickets", {
      children: ({ input }) => input.seats.map((seat) => child(ticket, { seat })),
    });

  export const shout = defineWorkflow({
    input: z.object({ text: z.string().transform((text) => text + "!") }),
  }).step("say", { query: (_ctx, { input }) => input.text });

  export const address = z.object({ street: z.string(), tags: z.array(z.string()) });
  export const letter = defineWorkflow({ input: z.object({ to: address, stamps: z.bigint() }) })
    .step("post", { query: (_ctx, { input }) => input.stamps });

  export const either = defineWorkflow({ input: z.union([address, z.string()]) })
    .step("keep", { query: (_ctx, { input }) => typeof input });

  export const aNameThatIsLongerThanAPhoneIsWideAndHasNoPlaceToBreak = defineWorkflow({ input: z.object({}) })
    .step("aStepWhoseNameIsLongerThanAPhoneIsWideAndHasNoPlaceToBreak", { query: () => 1 });

  export const member = defineWorkflow({
    input: z.object({ org: z.string(), seats: z.number() }),
    tags: ({ input }) => input,
  }).step("count", { query: (_ctx, { input }) => input.seats });

  export const talk = defineWorkflow({ input: z.object({}) })
    .event("asked", { schema: z.object({ question: z.string() }) })
    .event("answered", { schema: z.object({ answer: z.string() }) });

  export const nap = defineWorkflow({ input: z.object({}) }).sleep("rest", "1d");

  export const patient = defineWorkflow({ input: z.object({}) }).step("ask", {
    action: async () => {
      throw new Error("no answer");
    },
    retry: { maxAttempts: 3, initialBackoffMs: 3_600_000, base: 1 },
  });

  export const rental = defineWorkflow({ input: z.object({ car: z.string() }) })
    .step("rent", { action: async () => 1, compensate: { action: async () => {} } })
    .step("drive", {
      action: async (_ctx, { input }) => {
        throw new Error("the " + input.car + " does not start");
      },
      retry: { maxAttempts: 2, initialBackoffMs: 1, base: 1 },
    });

  export const quarrel = defineWorkflow({ input: z.object({}) }).race("decided", {
    cases: {
      answered: (b) => b.event("answer", { schema: z.string() }),
      lapsed: (b) =>
        b.step("book", { action: async () => 1, compensate: { action: async () => {} } }).sleep("week", "7d"),
    },
  });

  export const slow = defineWorkflow({ input: z.object({}) })
    .step("wait", { action: async () => await globalThis.held });

  export const call = defineWorkflow({
    input: z.object({ org: z.string() }),
    limits: { org: ({ input }) => input.org },
  }).step("dial", { action: async () => await globalThis.held });
`;

/** Definitions with much in them, or with odd names. */
const odd = `
  import { child, defineWorkflow } from "@stepwise/workflow";
  import { z } from "zod";

  const none = z.object({});
  const said = z.object({ by: z.string() });

  export const panel = defineWorkflow({ input: z.object({ papers: z.array(z.string()) }) })
    .parallel("both", {
      branches: {
        legal: (b) => b.event("verdict", { schema: said }),
        money: (b) => b
          .event("verdict", { schema: z.object({ cents: z.number() }) })
          .race("paid", {
            cases: {
              card: (c) => c.event("card", { schema: z.object({ last4: z.string() }) }),
              never: (c) => c.sleep("week", "7d"),
            },
          }),
      },
    })
    .each("read", {
      of: ({ input }) => input.papers,
      body: (b) => b.event("remark", { schema: z.object({ text: z.string() }) }),
    })
    .event("closing", { schema: said });

  export const oddly = defineWorkflow({
    input: z.object({ text: z.string() }),
    tags: ({ input }) => ({ text: input.text.slice(0, 60) }),
    onEnd: { mutation: async (_ctx, { input }) => { throw new Error("onEnd " + input.text); } },
  })
    .parallel("size", {
      branches: {
        "a.b <c>": (b) => b.step("load", {
          action: async (_ctx, { input }) => { throw new Error(input.text); },
          retry: { maxAttempts: 2, initialBackoffMs: 1, base: 1 },
        }),
        aBranchWhoseNameIsMuchLongerThanAPhoneIsWideAndThatHasNoPlaceToBreakAnywhere: (b) => b.sleep("wait", "1d"),
      },
    });

  export const sorts = defineWorkflow({ input: z.object({ kind: z.string(), bad: z.number() }) })
    .step("found", {
      query: (_ctx, { input }) => ({ kind: input.kind as "car" | "bike" }),
      compensate: { mutation: async () => {} },
    })
    .match("sort", {
      of: "found",
      by: "kind",
      cases: {
        car: (b) => b.end(() => "a car"),
        bike: (b) => b.step("asked", { query: () => "asked" }),
      },
    })
    .each("parts", {
      of: ({ input }) => Array.from({ length: 12 }, (_, n) => n),
      body: (b) => b.step("made", {
        action: async (_ctx, { each, input }) => {
          if (each.item < input.bad) throw new Error("part " + each.item + " broke");
          return each.item;
        },
      }),
      tolerate: { failures: 2 },
      concurrency: 3,
    });

  export const many = defineWorkflow({ input: none })${Array.from(
    { length: 60 },
    (_, n) => `.step("node${n}", { query: () => ${n} })`,
  ).join("")};
`;

/** It is taken out of the app while runs of it are there. */
const removed = `
  import { defineWorkflow } from "@stepwise/workflow";
  import { z } from "zod";
  export const gone = defineWorkflow({ input: z.object({}) })
    .step("before", { query: () => 1 })
    .event("answer", { schema: z.string() });
`;

const config = `
  import { defineConfig } from "@stepwise/workflow";
  export default defineConfig({ limits: { org: { perKey: 1, total: 4 } } });
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
export const writeShop = (config = convexConfig(), more = {}): Promise<TestApp> =>
  writeApp({
    "convex.config.ts": config,
    "shop.workflow.ts": shop,
    "studio.ts": studioApi,
    ...more,
  });
/** The same without the functions of the studio. */
export const writeShopWithoutStudio = (): Promise<TestApp> =>
  writeApp({ "convex.config.ts": convexConfig(), "shop.workflow.ts": shop });
/** The same, with a trip that fails in its child and cannot be undone, and a step to hold. */
export const writeShopWithTrips = (): Promise<TestApp> =>
  writeShop(convexConfig(), { "trips.workflow.ts": trips, "stepwise.config.ts": config });
/** An app with odd definitions. */
export const writeOdd = (): Promise<TestApp> =>
  writeShop(convexConfig(), {
    "trips.workflow.ts": trips,
    "odd.workflow.ts": odd,
    "removed.workflow.ts": removed,
    "stepwise.config.ts": config,
  });
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
export const openStudio = async (
  { functionsDir }: TestApp,
  command = ["studio"],
): Promise<OpenStudio> =>
  await opened(dirname(functionsDir), async (terminal) => await runProgram(terminal, command));

/** `workflow-codegen studio --url …` with a deploy key, of an app on the embedded back end. */
export async function openDeployedStudio({
  functionsDir,
}: TestApp): Promise<OpenStudio & { client: EmbeddedClient }> {
  const back = await openBackEnd(functionsDir);
  const client = new EmbeddedClient(back);
  const connect = () => client as unknown as ConvexClient;
  const options = { url: "https://happy-otter-123.convex.cloud", module: "studio", connect };
  vi.stubEnv("CONVEX_DEPLOY_KEY", "prod:a-secret");
  const { close, ...of } = await opened(
    dirname(functionsDir),
    async (terminal) => await studio(options, terminal),
  );
  vi.unstubAllEnvs();
  return {
    ...of,
    client,
    close: async () => {
      await close();
      back.close();
    },
  };
}

/**
 * Stands for Convex's client: it calls the app's functions on the embedded back end, where the real
 * one has a connection to a deployment. After each mutation it runs again what it is subscribed to,
 * while it has its connection.
 */
export class EmbeddedClient implements Client {
  readonly keys: string[] = [];
  isClosed = false;
  #isConnected = true;
  readonly #queries = new Set<() => void>();
  readonly #connections = new Set<Parameters<Client["subscribeToConnectionState"]>[0]>();
  readonly #back: BackEnd;
  readonly #forget: () => void;
  constructor(back: BackEnd) {
    this.#back = back;
    this.#forget = back.counter.onCall(({ how, type }) => {
      if (how !== "nested" && type === "mutation")
        // Functions run in a context of their own. What they wrote is committed after the call.
        this.#outside(() => setTimeout(() => this.#update(), 10));
    });
  }
  readonly #outside = AsyncLocalStorage.snapshot();
  setAdminAuth(key: string) {
    this.keys.push(key);
  }
  #as = () => this.#back.t.withIdentity({ subject: this.keys.length > 0 ? "operator" : "nobody" });
  query: Client["query"] = async (fn, args) => await this.#as().query(fn as any, args as any);
  mutation: Client["mutation"] = async (fn, args) =>
    await this.#as().mutation(fn as any, args as any);
  onUpdate: Client["onUpdate"] = (fn, args, onValue, onError) => {
    const ask = () =>
      void this.query(fn, args as never).then(
        (value) => this.#isConnected && onValue(value),
        (error) => this.#isConnected && onError?.(error),
      );
    ask();
    this.#queries.add(ask);
    return (() => this.#queries.delete(ask)) as unknown as ReturnType<Client["onUpdate"]>;
  };
  #update() {
    if (this.#isConnected) for (const again of this.#queries) again();
  }
  connectionState = () =>
    ({ isWebSocketConnected: this.#isConnected, hasEverConnected: true }) as ReturnType<
      Client["connectionState"]
    >;
  subscribeToConnectionState: Client["subscribeToConnectionState"] = (listener) => {
    this.#connections.add(listener);
    return () => this.#connections.delete(listener);
  };
  /** Loses the connection, or has it again. */
  connect(isWebSocketConnected: boolean) {
    this.#isConnected = isWebSocketConnected;
    for (const tell of this.#connections) tell(this.connectionState());
    this.#update();
  }
  close = async () => {
    this.isClosed = true;
    this.#forget();
  };
}

/** What a test waits for in real time comes soon, but for a machine that is busy. */
export const PATIENCE_MS = 300_000;

export const eventually = <Result>(attempt: () => Result | Promise<Result>): Promise<Result> =>
  vi.waitFor(attempt, { timeout: PATIENCE_MS, interval: 50 });

/** Runs a command that opens the studio. It goes on until the studio is closed. */
async function opened(
  cwd: string,
  command: (terminal: Terminal) => Promise<unknown>,
): Promise<OpenStudio> {
  let text = "";
  const write = (more: string) => void (text += more);
  const interrupt = new AbortController();
  const terminal = {
    cwd,
    color: false,
    stdout: { write },
    stderr: { write },
    interrupted: interrupt.signal,
    exitCode: 0,
  };
  const ended = command(terminal);
  const url = await eventually(() => {
    const [found] = /http:\S+/.exec(text) ?? [];
    if (found === undefined) throw new Error(`It has not opened yet: ${text}`);
    return found;
  });
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
