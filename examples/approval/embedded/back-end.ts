import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { type AddressInfo } from "node:net";
import { resolve } from "node:path";
import { json } from "node:stream/consumers";
import { compile, formatDiagnostic, writeGenerated } from "@stepwise/codegen";
import { openBackEnd } from "@stepwise/codegen/dev-server";
import { makeFunctionReference } from "convex/server";
import { ConvexError, convexToJson, jsonToConvex, type JSONValue, type Value } from "convex/values";
import type { Plugin } from "vite";

/**
 * Serves the app in `convex/` from this process: queries and mutations over Convex's HTTP API, and
 * an event for each change. For demos and tests only, because it believes who a caller claims to be.
 */
export function embeddedBackEnd(): Plugin {
  return {
    name: "embedded-back-end",
    async configureServer({ middlewares, httpServer }) {
      const services = await playServices();
      const { SERVICES_URL, close } = services;
      Object.assign(process.env, { SERVICES_URL, SERVICES_KEY: "demo" });
      const app = await openApp(resolve(import.meta.dirname, "../convex"));
      middlewares.use("/back-end", (request, response) => void app.answer(request, response));
      httpServer?.once("close", () => {
        close();
        app.close();
      });
    },
  };
}

async function openApp(functionsDir: string) {
  const { ok, diagnostics, files } = await compile({ functionsDir });
  if (!ok)
    throw new Error(diagnostics.map((each) => formatDiagnostic(each, { color: false })).join("\n"));
  await writeGenerated(functionsDir, files);
  const back = await openBackEnd(functionsDir);
  const pages = new Set<ServerResponse>();
  back.counter.onCall(({ type, how }) => {
    if (type === "mutation" && how !== "nested")
      for (const page of pages) page.write("data: changed\n\n");
  });

  /** Calls a public function as the user whom the request names. */
  const call = async (kind: string, request: IncomingMessage): Promise<JSONValue> => {
    const { path, args } = (await json(request)) as { path: string; args: [JSONValue] };
    const [module = "", name = "default"] = path.split(":");
    const exported = (await back.load(module)) as
      Record<string, { isPublic?: boolean }> | undefined;
    if (exported?.[name]?.isPublic !== true) throw new Error(`There is no public function ${path}`);
    const subject = /^Bearer (\w+)$/.exec(request.headers.authorization ?? "")?.[1];
    const caller = subject === undefined ? back.t : back.t.withIdentity({ subject });
    const given = jsonToConvex(args[0]) as Record<string, Value>;
    const result: unknown =
      kind === "query"
        ? await caller.query(makeFunctionReference<"query">(path), given)
        : await caller.mutation(makeFunctionReference<"mutation">(path), given);
    return convexToJson((result ?? null) as Value);
  };

  return {
    close: back.close,
    async answer(request: IncomingMessage, response: ServerResponse) {
      const kind = /^\/api\/(query|mutation)$/.exec(request.url ?? "")?.[1];
      if (kind === undefined) {
        response.writeHead(200, { "content-type": "text/event-stream" });
        response.write("data: open\n\n");
        pages.add(response);
        response.once("close", () => pages.delete(response));
        return;
      }
      const answer = await call(kind, request).then(
        (value) => ({ status: "success", value }),
        (error: Error) => ({
          status: "error",
          errorMessage: error.message,
          ...(error instanceof ConvexError ? { errorData: convexToJson(error.data as Value) } : {}),
        }),
      );
      response.writeHead(200, { "content-type": "application/json" });
      response.end(JSON.stringify(answer));
    },
  };
}

/** Plays the mail and payment services. Each takes a moment, and the first payment fails. */
async function playServices() {
  let payments = 0;
  const server: Server = createServer((request, response) => {
    const fails = request.url === "/payouts" && payments++ === 0;
    setTimeout(() => {
      response.writeHead(fails ? 503 : 200);
      response.end(fails ? "the bank is busy" : "null");
    }, 300);
  });
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  const { port } = server.address() as AddressInfo;
  return { SERVICES_URL: `http://127.0.0.1:${port}`, close: () => server.close() };
}
