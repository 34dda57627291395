import type { ConvexClient } from "convex/browser";
import { type FunctionReference, makeFunctionReference } from "convex/server";
import type { DataSource } from "./data-source.js";

/** A client of the deployment, signed in as somebody whom `authorize` lets in. */
export type Client = Pick<
  ConvexClient,
  "query" | "mutation" | "onUpdate" | "connectionState" | "subscribeToConnectionState"
>;

type Call<Type extends "query" | "mutation"> = FunctionReference<
  Type,
  "public",
  { call: { name: string; args: unknown } }
>;

/**
 * The runs of a deployment, live by subscription.
 *
 * @param module that of the functions of `defineStudioApi`, such as `studio`
 */
export function deploymentSource(client: Client, module: string): DataSource {
  const reading: Call<"query"> = makeFunctionReference(`${module}:read`);
  const writing: Call<"mutation"> = makeFunctionReference(`${module}:write`);
  return {
    // What a name gives is known where the functions are defined.
    read: async (name, args) => (await client.query(reading, { call: { name, args } })) as never,
    write: async (name, args) =>
      (await client.mutation(writing, { call: { name, args } })) as never,
    watch: (name, args, onValue, onError) => {
      let last: { value: unknown } | undefined;
      let isLost = false;
      const stop = client.onUpdate(
        reading,
        { call: { name, args } },
        (value) => {
          last = { value };
          onValue(value as never);
        },
        onError,
      );
      // The client connects again by itself. It has what is new then, if anything is.
      const tell = (state: ReturnType<Client["connectionState"]>) => {
        const wasLost = isLost;
        isLost = !state.isWebSocketConnected && state.hasEverConnected;
        if (isLost && !wasLost)
          onError(new Error("The deployment does not answer. The studio goes on when it does."));
        if (!isLost && wasLost && last !== undefined) onValue(last.value as never);
      };
      const forget = client.subscribeToConnectionState(tell);
      tell(client.connectionState());
      return () => {
        stop();
        forget();
      };
    },
  };
}
