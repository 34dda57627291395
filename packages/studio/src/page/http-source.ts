import { convexToJson, jsonToConvex, type JSONValue, type Value } from "convex/values";
import type { DataSource } from "../data-source.js";
import type { Plans } from "./plans.js";

/** What the server says of itself. */
export interface About {
  readonly title: string;
  readonly plans?: Plans;
}

/** The studio's own server. */
export interface Server extends DataSource {
  about(): Promise<About>;
}

/** The server is gone, or another one is there. It may come back. */
export class Unreachable extends Error {}

/** How long to wait before a lost server is asked again, in ms. */
export const RETRY_MS = 1_000;

/** Asks the server that the page came from, with the token of its address. */
export function httpSource(token: string): Server {
  const post = async (path: string, args: unknown, signal?: AbortSignal): Promise<Response> => {
    const response = await fetch(path, {
      method: "POST",
      headers: { authorization: `Bearer ${token}` },
      body: JSON.stringify(convexToJson(args as Value)),
      signal: signal ?? null,
    }).catch((error: unknown) => {
      if (signal?.aborted === true) throw error;
      throw new Unreachable(
        "The studio does not answer. If you have started it again, open the address that your terminal shows.",
      );
    });
    if (response.ok) return response;
    const { error } = (await response.json()) as { error: string };
    throw response.status === 401 ? new Unreachable(error) : new Error(error);
  };
  const result = async (path: string, args: unknown) =>
    jsonToConvex((await (await post(path, args)).json()) as JSONValue) as never;
  return {
    about: async () => (await (await post("/about", {})).json()) as About,
    read: async (name, args) => await result(`/read/${name}`, args),
    write: async (name, args) => await result(`/write/${name}`, args),
    watch: (name, args, onValue, onError) => {
      const ending = new AbortController();
      const follow = async () => {
        const response = await post(`/watch/${name}`, args, ending.signal);
        for await (const line of linesOf(response.body!)) {
          const told = JSON.parse(line) as { value?: JSONValue; error?: string };
          if (told.error !== undefined) onError(new Error(told.error));
          else onValue(jsonToConvex(told.value ?? null) as never);
        }
      };
      void (async () => {
        while (!ending.signal.aborted) {
          await follow().catch((error: unknown) => {
            if (!ending.signal.aborted) onError(error as Error);
          });
          await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
        }
      })();
      return () => ending.abort();
    },
  };
}

async function* linesOf(body: ReadableStream<Uint8Array>): AsyncGenerator<string> {
  const reader = body
    .pipeThrough(new TextDecoderStream() as never)
    .getReader() as ReadableStreamDefaultReader<string>;
  let rest = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    const lines = (rest + value).split("\n");
    rest = lines.pop() ?? "";
    yield* lines;
  }
}
