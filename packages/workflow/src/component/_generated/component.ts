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
    update: FunctionReference<"mutation", "internal", { maxParallelism: number }, null, Name>;
  };
  lib: {
    cancel: FunctionReference<
      "mutation",
      "internal",
      { runId: string },
      "canceled" | "ended" | "unknown",
      Name
    >;
    load: FunctionReference<
      "query",
      "internal",
      { run: string; reads: Array<{ name: string; stage: string; children?: boolean }> },
      any,
      Name
    >;
    settle: FunctionReference<
      "mutation",
      "internal",
      {
        token: { run: string; step: string; attempt: number };
        slot?: string;
        outcome:
          | { kind: "success"; output: any }
          | {
              kind: "failed";
              error: {
                message: string;
                kind:
                  | "thrown"
                  | "nonRetryable"
                  | "timedOut"
                  | "canceled"
                  | "childFailed"
                  | "invalidInput"
                  | "invalidOutput"
                  | "tooLarge"
                  | "lost"
                  | "removedNode";
                data?: any;
                workflow: string;
                node: string;
                attempt: number;
                key?: string;
                cause?: any;
              };
            }
          | {
              kind: "retry";
              error: {
                message: string;
                kind:
                  | "thrown"
                  | "nonRetryable"
                  | "timedOut"
                  | "canceled"
                  | "childFailed"
                  | "invalidInput"
                  | "invalidOutput"
                  | "tooLarge"
                  | "lost"
                  | "removedNode";
                data?: any;
                workflow: string;
                node: string;
                attempt: number;
                key?: string;
                cause?: any;
              };
              dueAt: number;
            }
          | { kind: "open" };
        fused: Array<{
          stage: string;
          kind: "input" | "entry" | "action" | "mutation" | "query" | "children";
          startedAt: number;
          output?: any;
          error?: {
            message: string;
            kind:
              | "thrown"
              | "nonRetryable"
              | "timedOut"
              | "canceled"
              | "childFailed"
              | "invalidInput"
              | "invalidOutput"
              | "tooLarge"
              | "lost"
              | "removedNode";
            data?: any;
            workflow: string;
            node: string;
            attempt: number;
            key?: string;
            cause?: any;
          };
        }>;
        next:
          | {
              kind: "stage";
              stage: {
                stage: string;
                action?: { fn: string; timeoutMs?: number };
                reads: Array<{ name: string; stage: string; children?: boolean }>;
              };
            }
          | {
              kind: "children";
              stage: string;
              children: Array<{
                workflow: string;
                resume: string;
                first: {
                  stage: string;
                  action?: { fn: string; timeoutMs?: number };
                  reads: Array<{ name: string; stage: string; children?: boolean }>;
                };
                key?: string;
                input: any;
                error?: {
                  message: string;
                  kind:
                    | "thrown"
                    | "nonRetryable"
                    | "timedOut"
                    | "canceled"
                    | "childFailed"
                    | "invalidInput"
                    | "invalidOutput"
                    | "tooLarge"
                    | "lost"
                    | "removedNode";
                  data?: any;
                  workflow: string;
                  node: string;
                  attempt: number;
                  key?: string;
                  cause?: any;
                };
              }>;
              keyed: boolean;
              concurrency?: number;
            }
          | { kind: "complete"; stage: string }
          | {
              kind: "fail";
              error: {
                message: string;
                kind:
                  | "thrown"
                  | "nonRetryable"
                  | "timedOut"
                  | "canceled"
                  | "childFailed"
                  | "invalidInput"
                  | "invalidOutput"
                  | "tooLarge"
                  | "lost"
                  | "removedNode";
                data?: any;
                workflow: string;
                node: string;
                attempt: number;
                key?: string;
                cause?: any;
              };
            }
          | { kind: "wait" };
      },
      { stale: boolean },
      Name
    >;
    start: FunctionReference<
      "mutation",
      "internal",
      {
        workflow: string;
        resume: string;
        first: {
          stage: string;
          action?: { fn: string; timeoutMs?: number };
          reads: Array<{ name: string; stage: string; children?: boolean }>;
        };
        input: any;
        key?: string;
        maxParallelism?: number;
      },
      string,
      Name
    >;
  };
  views: {
    status: FunctionReference<
      "query",
      "internal",
      { runId: string },
      {
        runId: string;
        workflow: string;
        state: "pending" | "running" | "completed" | "failed" | "canceled";
        startedAt: number;
        endedAt?: number;
        active: Array<{
          node: string;
          state: "pending" | "running" | "waiting" | "completed" | "failed" | "canceled";
          since: number;
          attempt: number;
          dueAt?: number;
          children?: { done: number; total: number };
          errors: Array<{
            message: string;
            kind:
              | "thrown"
              | "nonRetryable"
              | "timedOut"
              | "canceled"
              | "childFailed"
              | "invalidInput"
              | "invalidOutput"
              | "tooLarge"
              | "lost"
              | "removedNode";
            data?: any;
            workflow: string;
            node: string;
            attempt: number;
            key?: string;
            cause?: any;
          }>;
        }>;
        output?: any;
        error?: {
          message: string;
          kind:
            | "thrown"
            | "nonRetryable"
            | "timedOut"
            | "canceled"
            | "childFailed"
            | "invalidInput"
            | "invalidOutput"
            | "tooLarge"
            | "lost"
            | "removedNode";
          data?: any;
          workflow: string;
          node: string;
          attempt: number;
          key?: string;
          cause?: any;
        };
      } | null,
      Name
    >;
    tree: FunctionReference<
      "query",
      "internal",
      { runId: string },
      {
        runs: Array<{
          runId: string;
          parentRunId?: string;
          parentStage?: string;
          key?: string;
          index: number;
          workflow: string;
          state: "pending" | "running" | "completed" | "failed" | "canceled";
          startedAt: number;
          endedAt?: number;
          error?: {
            message: string;
            kind:
              | "thrown"
              | "nonRetryable"
              | "timedOut"
              | "canceled"
              | "childFailed"
              | "invalidInput"
              | "invalidOutput"
              | "tooLarge"
              | "lost"
              | "removedNode";
            data?: any;
            workflow: string;
            node: string;
            attempt: number;
            key?: string;
            cause?: any;
          };
          steps: Array<{
            stage: string;
            kind: "input" | "entry" | "action" | "mutation" | "query" | "children";
            state: "pending" | "running" | "waiting" | "completed" | "failed" | "canceled";
            attempt: number;
            startedAt: number;
            endedAt?: number;
            dueAt?: number;
            errors: Array<{
              message: string;
              kind:
                | "thrown"
                | "nonRetryable"
                | "timedOut"
                | "canceled"
                | "childFailed"
                | "invalidInput"
                | "invalidOutput"
                | "tooLarge"
                | "lost"
                | "removedNode";
              data?: any;
              workflow: string;
              node: string;
              attempt: number;
              key?: string;
              cause?: any;
            }>;
          }>;
        }>;
        truncated: boolean;
      } | null,
      Name
    >;
  };
};
