import { once } from "node:events";
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { brotliDecompressSync } from "node:zlib";

/** A module as `npx convex deploy` sends it. */
export interface PushedModule {
  readonly path: string;
  readonly source: string;
  readonly environment: "isolate" | "node";
}

/** What a deployment would get, as far as it is looked at. */
export interface Push {
  readonly appDefinition: {
    readonly definition: PushedModule;
    readonly dependencies: string[];
    readonly schema: PushedModule | null;
    readonly changedModules: PushedModule[];
  };
  readonly componentDefinitions: {
    readonly definitionPath: string;
    readonly definition: PushedModule;
    readonly schema: PushedModule | null;
    readonly functions: PushedModule[];
  }[];
}

/** What a new deployment answers when it is asked what it has. */
const NOTHING_YET = {
  config: { functions: "convex", authInfo: [] },
  moduleHashes: [],
  nodeDependencies: [],
  udfServerVersion: "1.48.0",
};

/** Stands in for a deployment: takes one push, and ends the command there. */
export async function listen() {
  const pushes: Push[] = [];
  const server = createServer((request, response) => {
    void bodyOf(request).then((body) => {
      if (request.url === "/api/get_config_hashes")
        return response.end(JSON.stringify(NOTHING_YET));
      if (request.url?.startsWith("/api/deploy2/evaluate_") === true) {
        return response.end(JSON.stringify({ schemaChange: {} }));
      }
      if (request.url === "/api/deploy2/start_push") pushes.push(JSON.parse(body) as Push);
      response.statusCode = 400;
      return response.end(JSON.stringify({ code: "Enough", message: "the bundle has arrived" }));
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    pushes,
    close: async () => {
      server.close();
      server.closeAllConnections();
      await once(server, "close");
    },
  };
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  const body = Buffer.concat(chunks);
  const isCompressed = request.headers["content-encoding"] === "br";
  return (isCompressed ? brotliDecompressSync(body) : body).toString();
}
