import { ConvexHttpClient } from "convex/browser";
import type { ConvexReactClient } from "convex/react";
import { getFunctionName, type FunctionReference } from "convex/server";
import { convexToJson, type Value } from "convex/values";

const url = `${location.origin}/back-end`;
/** One for all users: a browser has few connections to a server, and each would keep its own. */
let changes: EventSource | undefined;

interface Watched {
  value: unknown;
  error: unknown;
  readonly load: () => Promise<void>;
  /** How often it was asked for, and which of these times its value is of. */
  asked: number;
  answered: number;
  readonly listeners: Set<() => void>;
}

/**
 * The part of a `ConvexReactClient` that React's hooks use, for the embedded back end. It loads
 * every watched query again after each change there.
 */
class EmbeddedClient {
  readonly #http: ConvexHttpClient;
  readonly #watched = new Map<string, Watched>();

  constructor(user: string) {
    this.#http = new ConvexHttpClient(url, { skipConvexDeploymentUrlCheck: true, auth: user });
    changes ??= new EventSource(`${url}/changes`);
    changes.addEventListener("message", () => {
      for (const { listeners, load } of this.#watched.values()) if (listeners.size > 0) void load();
    });
  }

  watchQuery(query: FunctionReference<"query">, args: Record<string, Value> = {}) {
    const key = `${getFunctionName(query)} ${JSON.stringify(convexToJson(args))}`;
    const known = this.#watched.get(key);
    const watched = known ?? this.#watch(query, args);
    if (known === undefined) this.#watched.set(key, watched);
    return {
      onUpdate: (listener: () => void) => {
        watched.listeners.add(listener);
        void watched.load();
        return () => watched.listeners.delete(listener);
      },
      localQueryResult: () => {
        if (watched.error !== undefined) throw watched.error;
        return watched.value;
      },
      journal: () => undefined,
    };
  }

  #watch(query: FunctionReference<"query">, args: Record<string, Value>): Watched {
    const watched: Watched = {
      value: undefined,
      error: undefined,
      listeners: new Set(),
      asked: 0,
      answered: 0,
      load: async () => {
        const asked = ++watched.asked;
        const answer = await this.#http.query(query, args).then(
          (value: unknown) => ({ value, error: undefined }),
          (error: unknown) => ({ value: watched.value, error }),
        );
        // Answers may come in another order than the questions went.
        if (asked < watched.answered) return;
        Object.assign(watched, answer, { answered: asked });
        for (const listener of watched.listeners) listener();
      },
    };
    return watched;
  }

  async mutation(mutation: FunctionReference<"mutation">, args: Record<string, Value> = {}) {
    return (await this.#http.mutation(mutation, args)) as unknown;
  }
}

const clients = new Map<string, EmbeddedClient>();

/** The client of the embedded back end that is signed in as a user. */
export function embeddedClient(user: string): ConvexReactClient {
  const client = clients.get(user) ?? new EmbeddedClient(user);
  clients.set(user, client);
  // It has the parts of the class that `useQuery` and `useMutation` call.
  return client as unknown as ConvexReactClient;
}
