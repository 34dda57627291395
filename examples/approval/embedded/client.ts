import { ConvexHttpClient } from "convex/browser";
import type { ConvexReactClient } from "convex/react";
import { getFunctionName, type FunctionReference } from "convex/server";
import { convexToJson, type Value } from "convex/values";

interface Watched {
  value: unknown;
  error: unknown;
  readonly load: () => Promise<void>;
  readonly listeners: Set<() => void>;
}

/**
 * The part of a `ConvexReactClient` that React's hooks use, for the embedded back end. It loads
 * every watched query again after each change there.
 */
class EmbeddedClient {
  readonly #http: ConvexHttpClient;
  readonly #watched = new Map<string, Watched>();

  constructor(url: string, user: string) {
    this.#http = new ConvexHttpClient(url, { skipConvexDeploymentUrlCheck: true, auth: user });
    const changes = new EventSource(`${url}/changes`);
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
      load: async () => {
        try {
          watched.value = await this.#http.query(query, args);
          watched.error = undefined;
        } catch (error) {
          watched.error = error;
        }
        for (const listener of watched.listeners) listener();
      },
    };
    return watched;
  }

  async mutation(mutation: FunctionReference<"mutation">, args: Record<string, Value> = {}) {
    return (await this.#http.mutation(mutation, args)) as unknown;
  }
}

/** A client of the embedded back end, signed in as a user. */
export function embeddedClient(user: string): ConvexReactClient {
  const url = `${location.origin}/back-end`;
  // It has the parts of the class that `useQuery` and `useMutation` call.
  return new EmbeddedClient(url, user) as unknown as ConvexReactClient;
}
