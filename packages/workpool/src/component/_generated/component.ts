/* eslint-disable */
/**
 * Generated `ComponentApi` utility.
 *
 * THIS CODE IS AUTOMATICALLY GENERATED.
 *
 * To regenerate, run `node scripts/component-api.mjs`.
 * @module
 */
import type { FunctionReference } from "convex/server";

/**
 * A utility for referencing a Convex component's exposed API.
 *
 * Useful when expecting a parameter like `components.myComponent`.
 */
export type ComponentApi<Name extends string | undefined = string | undefined> = {
  config: {
    update: FunctionReference<"mutation", "internal", { maxParallelism?: number }, null, Name>;
  };
  lib: {
    cancel: FunctionReference<"mutation", "internal", { id: string }, null, Name>;
    enqueue: FunctionReference<
      "mutation",
      "internal",
      {
        kind: "action" | "mutation" | "query";
        fn: string;
        name?: string;
        runAt?: number;
        retry?: {
          maxAttempts: number;
          initialBackoffMs: number;
          base: number;
          maxBackoffMs?: number;
        };
        onComplete?: {
          fn: string;
          context?: any;
          excludeKinds?: Array<"success" | "failed" | "canceled">;
        };
        maxParallelism?: number;
        args: any;
      },
      string,
      Name
    >;
    enqueueBatch: FunctionReference<
      "mutation",
      "internal",
      {
        kind: "action" | "mutation" | "query";
        fn: string;
        name?: string;
        runAt?: number;
        retry?: {
          maxAttempts: number;
          initialBackoffMs: number;
          base: number;
          maxBackoffMs?: number;
        };
        onComplete?: {
          fn: string;
          context?: any;
          excludeKinds?: Array<"success" | "failed" | "canceled">;
        };
        maxParallelism?: number;
        argsList: Array<any>;
      },
      Array<string>,
      Name
    >;
    status: FunctionReference<
      "query",
      "internal",
      { id: string },
      { state: "pending" | "running"; previousAttempts: number } | { state: "finished" },
      Name
    >;
    statusBatch: FunctionReference<
      "query",
      "internal",
      { ids: Array<string> },
      Array<{ state: "pending" | "running"; previousAttempts: number } | { state: "finished" }>,
      Name
    >;
  };
};
