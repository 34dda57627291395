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
  /** Calls `listener` when anything that is watched has changed. Returns what ends that. */
  onChange(listener: () => void): () => void;
}

/** The server is gone, or another one is there. It may come back. */
export class Unreachable extends Error {}

/** How long to wait before a lost server is asked again, in ms. */
export const RETRY_MS = 1_000;

/** Asks the server that the page came from, with the token of its address. */
export function httpSource(token: string): Server {
  const post: Post = async (path, args, signal) => {
    const response = await fetch(path, {
      method: "POST",
      headers: { authorization: `Bearer ${token}` },
      body: JSON.stringify(convexToJson(args as Value)),
      signal: signal ?? null,
    }).catch((error: unknown) => {
      if (signal?.aborted === true) throw error;
      return away();
    });
    if (response.ok) return response;
    const { error } = await said<{ error: string }>(response);
    throw response.status === 401 ? new Unreachable(error) : new Error(error);
  };
  const changes = new EventTarget();
  const result = async (path: string, args: unknown) =>
    jsonToConvex(await said<JSONValue>(await post(path, args))) as never;
  return {
    about: async () => await said<About>(await post("/about", {})),
    read: async (name, args) => await result(`/read/${name}`, args),
    write: async (name, args) => await result(`/write/${name}`, args),
    watch: live(post, () => changes.dispatchEvent(new Event("change"))),
    onChange: (listener) => {
      changes.addEventListener("change", listener);
      return () => changes.removeEventListener("change", listener);
    },
  };
}

function away(): never {
  throw new Unreachable(
    "The studio does not answer. If you have started it again, open the address that your terminal shows.",
  );
}

/** The server may go away in the middle of an answer, and so may the page. */
async function said<Answer>(response: Response): Promise<Answer> {
  return (await response.json().catch(away)) as Answer;
}

type Post = (path: string, args: unknown, signal?: AbortSignal) => Promise<Response>;

/** A line of what is live: the session's name first, then values and errors of its watches. */
interface Told {
  readonly session?: string;
  readonly id?: number;
  readonly value?: JSONValue;
  readonly error?: string;
}

interface Watch {
  readonly name: string;
  readonly args: unknown;
  readonly onValue: (value: never) => void;
  readonly onError: (error: Error) => void;
}

/**
 * Follows all that is watched over one connection, and over none while the page is out of sight:
 * a browser opens only six to a server, for all its tabs together.
 */
function live(post: Post, onChange: () => void): DataSource["watch"] {
  const watches = new Map<number, Watch>();
  let session: string | undefined;
  let isFollowing = false;
  let ids = 0;

  /** An answer that is not read would hold its connection. */
  const tell = async (path: string, args: object) =>
    await (await post(path, args)).text().catch(away);
  const add = async (id: number, watch: Watch): Promise<void> => {
    const { name, args, onError } = watch;
    const of = session;
    await tell(`/watch/${name}`, { session, id, args: args as Value }).catch(
      async (error: Error) => {
        if (!(error instanceof Unreachable)) return onError(error);
        // When the server cannot be reached, that is said once for all, and all are told again.
        // A single request that was lost on its way is repeated.
        await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
        if (session === of && watches.get(id) === watch) await add(id, watch);
      },
    );
  };

  const follow = async (signal: AbortSignal) => {
    const response = await post("/live", {}, signal);
    for await (const line of linesOf(response.body!)) {
      const told = JSON.parse(line) as Told;
      if (told.session !== undefined) {
        ({ session } = told);
        watches.forEach((watch, id) => void add(id, watch));
      }
      const watch = watches.get(told.id ?? 0);
      if (told.error !== undefined) watch?.onError(new Error(told.error));
      else watch?.onValue(jsonToConvex(told.value ?? null) as never);
      onChange();
    }
  };
  const goOn = async () => {
    if (isFollowing || document.hidden) return;
    isFollowing = true;
    while (watches.size > 0 && !document.hidden) {
      const ending = new AbortController();
      const hide = () => document.hidden && ending.abort();
      document.addEventListener("visibilitychange", hide);
      await follow(ending.signal).catch((error: unknown) => {
        if (ending.signal.aborted) return;
        for (const { onError } of watches.values()) onError(error as Error);
      });
      document.removeEventListener("visibilitychange", hide);
      session = undefined;
      if (!ending.signal.aborted) await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
    }
    isFollowing = false;
  };
  document.addEventListener("visibilitychange", () => void goOn());
  return (name, args, onValue, onError) => {
    const id = ++ids;
    const watch = { name, args, onValue, onError };
    watches.set(id, watch);
    const added = session !== undefined && add(id, watch);
    void goOn();
    return async () => {
      watches.delete(id);
      await added;
      // If that fails, the session is over, and with it the watch.
      if (session !== undefined) await tell("/unwatch", { session, id }).catch(() => {});
    };
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
