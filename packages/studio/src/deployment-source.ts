import type { ConvexClient } from "convex/browser";
import { type FunctionReference, makeFunctionReference } from "convex/server";
import type { DataSource } from "./data-source.js";

/** A client of the deployment, signed in as somebody whom `authorize` lets in. */
export type Client = Pick<ConvexClient, "query" | "mutation" | "onUpdate">;

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
    watch: (name, args, onValue, onError) =>
      client.onUpdate(
        reading,
        { call: { name, args } },
        (value) => onValue(value as never),
        onError,
      ),
  };
}
