import { randomBytes, timingSafeEqual } from "node:crypto";
import { readFile } from "node:fs/promises";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { extname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { convexToJson, jsonToConvex, type Value } from "convex/values";
import { type DataSource, READS, type ReadName, WRITES, type WriteName } from "./data-source.js";

export interface StudioOptions {
  readonly source: DataSource;
  /** What the page says that it shows, such as the app's folder. */
  readonly title: string;
  /** The compiled workflows, for the graphs; JSON that the page understands. */
  plans(): unknown;
  /** Default: any free port. */
  readonly port?: number;
  /** What opens the page. Default: a new one. */
  readonly token?: string;
}

export interface Studio {
  /** The page's address, with the token that opens it. */
  readonly url: string;
  close(): Promise<void>;
}

/** What a request may carry: a run's input holds at most 1 MiB. */
const MAX_BODY_BYTES = 2 * 1024 * 1024;

const TYPES: Readonly<Record<string, string>> = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
};

/** Scripts, styles and requests of the page's own only. React sets styles of single elements. */
const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/** An answer that is not a result. */
class Refusal extends Error {
  constructor(
    readonly status: number,
    message: string,
  ) {
    super(message);
  }
}

/**
 * Serves the studio's page and what it asks for, to this machine alone. It listens on loopback,
 * answers requests whose Host and Origin are its own, and asks for a token that is new each time.
 */
export async function serveStudio(options: StudioOptions): Promise<Studio> {
  const { token = randomBytes(24).toString("base64url") } = options;
  const sessions: Sessions = new Map();
  const server = createServer((request, response) => {
    const { port } = server.address() as AddressInfo;
    answer(options, token, port, sessions, request, response).catch((error: unknown) => {
      const status = error instanceof Refusal ? error.status : 422;
      if (!response.headersSent) response.writeHead(status, { "content-type": "application/json" });
      response.end(
        JSON.stringify({ error: error instanceof Error ? error.message : String(error) }),
      );
    });
  });
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(options.port ?? 0, "127.0.0.1", resolve);
  });
  const { port } = server.address() as AddressInfo;
  return {
    // Behind the #, so that it is never sent, nor kept in a log.
    url: `http://127.0.0.1:${port}/#token=${token}`,
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

async function answer(
  options: StudioOptions,
  token: string,
  port: number,
  sessions: Sessions,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const { host = "", origin } = request.headers;
  const own = [`127.0.0.1:${port}`, `localhost:${port}`];
  // Another name for this address may be another site's, which would read the answer.
  if (!own.includes(host)) throw new Refusal(403, "The studio answers on its own address only");
  if (origin !== undefined && origin !== `http://${host}`)
    throw new Refusal(403, "The studio answers its own page only");
  response.setHeader("content-security-policy", POLICY);
  response.setHeader("x-content-type-options", "nosniff");
  response.setHeader("referrer-policy", "no-referrer");
  response.setHeader("cache-control", "no-store");
  const { pathname } = new URL(request.url ?? "/", `http://${host}`);
  if (request.method === "GET") return await sendFile(pathname, response);
  if (request.method !== "POST") throw new Refusal(405, "Only GET and POST are understood");
  if (!isToken(request.headers.authorization, token))
    throw new Refusal(401, "The token is missing or old. Open the address that the terminal shows");
  const [, what, name = ""] =
    /^\/(read|watch|unwatch|live|write|about)\/?(\w*)$/.exec(pathname) ?? [];
  if (what === "about") {
    return sendJson(response, { title: options.title, plans: options.plans() });
  }
  const { source } = options;
  if (what === "live") return openSession(source, sessions, response);
  const args = jsonToConvex(JSON.parse(await bodyOf(request)) as never) as never;
  if (what === "read" && isOneOf<ReadName>(READS, name))
    return sendJson(response, toJson(await source.read(name, args)));
  if (what === "write" && isOneOf<WriteName>(WRITES, name))
    return sendJson(response, toJson(await source.write(name, args)));
  if (what === "watch" && isOneOf<ReadName>(READS, name)) {
    const { session, id, args: of } = args as { session: unknown; id: number; args: never };
    sessionOf(sessions, session).watch(id, name, of);
    return sendJson(response, null);
  }
  if (what === "unwatch") {
    const { session, id } = args as { session: unknown; id: number };
    sessionOf(sessions, session).unwatch(id);
    return sendJson(response, null);
  }
  throw new Refusal(404, `There is no ${pathname}`);
}

/** What an open page watches. A line of JSON goes to it for each value. */
class Session {
  readonly #stops = new Map<number, () => void>();
  constructor(
    readonly source: DataSource,
    readonly send: (line: unknown) => void,
  ) {}
  watch(id: number, name: ReadName, args: never): void {
    this.unwatch(id);
    const stop = this.source.watch(
      name,
      args,
      (value) => this.send({ id, value: toJson(value) }),
      (error) => this.send({ id, error: error.message }),
    );
    this.#stops.set(id, stop);
  }
  unwatch(id: number): void {
    this.#stops.get(id)?.();
    this.#stops.delete(id);
  }
  end(): void {
    for (const id of this.#stops.keys()) this.unwatch(id);
  }
}

type Sessions = Map<string, Session>;

/** Tells a page what it watches, until it goes away. */
function openSession(source: DataSource, sessions: Sessions, response: ServerResponse): void {
  const name = randomBytes(12).toString("base64url");
  const session = new Session(source, (line) => response.write(`${JSON.stringify(line)}\n`));
  sessions.set(name, session);
  response.writeHead(200, { "content-type": "application/x-ndjson" });
  session.send({ session: name });
  response.once("close", () => {
    session.end();
    sessions.delete(name);
  });
}

/** @throws if its page has gone away */
function sessionOf(sessions: Sessions, name: unknown): Session {
  const found = sessions.get(String(name));
  if (found === undefined) throw new Refusal(409, "This page is not connected any more");
  return found;
}

async function sendFile(pathname: string, response: ServerResponse): Promise<void> {
  const file = pathname === "/" ? "/index.html" : pathname;
  const type = TYPES[extname(file)];
  // The names that Vite gives: no folder but one, and no dots but that of the extension.
  if (type === undefined || !/^\/(assets\/)?[\w-]+\.\w+$/.test(file))
    throw new Refusal(404, `There is no ${pathname}`);
  const folder = fileURLToPath(new URL("../dist/page/", import.meta.url));
  const bytes = await readFile(join(folder, file)).catch(() => {
    throw new Refusal(404, `There is no ${pathname}`);
  });
  response.writeHead(200, { "content-type": type });
  response.end(bytes);
}

function sendJson(response: ServerResponse, body: unknown): void {
  response.writeHead(200, { "content-type": "application/json" });
  response.end(JSON.stringify(body));
}

/** Results are Convex values. */
const toJson = (value: unknown): unknown => convexToJson(value as Value);

async function bodyOf(request: IncomingMessage): Promise<string> {
  const parts: Buffer[] = [];
  let bytes = 0;
  for await (const part of request as AsyncIterable<Buffer>) {
    bytes += part.length;
    // The rest is read, and dropped: an answer before the end would be lost.
    if (bytes <= MAX_BODY_BYTES) parts.push(part);
  }
  if (bytes > MAX_BODY_BYTES) throw new Refusal(413, "The request is larger than 2 MiB");
  return Buffer.concat(parts).toString();
}

/** In the same time, whatever differs. */
function isToken(header: string | undefined, token: string): boolean {
  const given = Buffer.from(header ?? "");
  const wanted = Buffer.from(`Bearer ${token}`);
  return given.length === wanted.length && timingSafeEqual(given, wanted);
}

const isOneOf = <Name extends string>(names: readonly Name[], name: string): name is Name =>
  names.includes(name as Name);
