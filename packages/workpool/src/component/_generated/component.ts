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
    update: FunctionReference<
      "mutation",
      "internal",
      {
        maxParallelism?: number;
        logLevel?: "DEBUG" | "TRACE" | "INFO" | "REPORT" | "WARN" | "ERROR";
        limits?: Record<
          string,
          {
            total?: number;
            perKey?: number;
            rate?: {
              limit: number;
              per: number | string;
              burst?: number;
              count?: "attempts" | "works";
            };
            maxWaiting?: number;
            unit?: string;
          }
        >;
      },
      null,
      Name
    >;
  };
  lib: {
    cancel: FunctionReference<"mutation", "internal", { id: string }, null, Name>;
    cancelAll: FunctionReference<"mutation", "internal", { limit?: number }, null, Name>;
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
        permits?: Array<string>;
        waitAtMostMs?: number;
        fairness?: { key: string; weight: number };
        priorityMs?: number;
        spends?: Record<string, string>;
        onComplete?: {
          fn: string;
          context?: any;
          excludeKinds?: Array<"success" | "failed" | "canceled">;
        };
        maxParallelism?: number;
        logLevel?: "DEBUG" | "TRACE" | "INFO" | "REPORT" | "WARN" | "ERROR";
        limits?: Record<
          string,
          {
            total?: number;
            perKey?: number;
            rate?: {
              limit: number;
              per: number | string;
              burst?: number;
              count?: "attempts" | "works";
            };
            maxWaiting?: number;
            unit?: string;
          }
        >;
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
        permits?: Array<string>;
        waitAtMostMs?: number;
        fairness?: { key: string; weight: number };
        priorityMs?: number;
        spends?: Record<string, string>;
        onComplete?: {
          fn: string;
          context?: any;
          excludeKinds?: Array<"success" | "failed" | "canceled">;
        };
        maxParallelism?: number;
        logLevel?: "DEBUG" | "TRACE" | "INFO" | "REPORT" | "WARN" | "ERROR";
        limits?: Record<
          string,
          {
            total?: number;
            perKey?: number;
            rate?: {
              limit: number;
              per: number | string;
              burst?: number;
              count?: "attempts" | "works";
            };
            maxWaiting?: number;
            unit?: string;
          }
        >;
        argsList: Array<any>;
      },
      Array<string>,
      Name
    >;
    repair: FunctionReference<"mutation", "internal", {}, null, Name>;
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
  limits: {
    get: FunctionReference<
      "query",
      "internal",
      { name: string; key?: string },
      {
        name: string;
        key?: string;
        running: number;
        waiting: number;
        waitingIsAtLeast: boolean;
        oldest?: number;
        left?: number;
        total?: number;
        perKey?: number;
        rate?: {
          limit: number;
          per: number | string;
          burst?: number;
          count?: "attempts" | "works";
        };
        maxWaiting?: number;
        unit?: string;
        asked: {
          total?: number;
          perKey?: number;
          rate?: {
            limit: number;
            per: number | string;
            burst?: number;
            count?: "attempts" | "works";
          };
          maxWaiting?: number;
          unit?: string;
        };
        origin: "code" | "config" | "override";
        override?: {
          total?: number;
          perKey?: number;
          rate?: {
            limit: number;
            per: number | string;
            burst?: number;
            count?: "attempts" | "works";
          };
          maxWaiting?: number;
          unit?: string;
          by?: string;
          at: number;
          until?: number;
        };
        paused?: { by?: string; at: number; until?: number };
      } | null,
      Name
    >;
    list: FunctionReference<
      "query",
      "internal",
      {},
      Array<{
        name: string;
        key?: string;
        running: number;
        waiting: number;
        waitingIsAtLeast: boolean;
        oldest?: number;
        left?: number;
        total?: number;
        perKey?: number;
        rate?: {
          limit: number;
          per: number | string;
          burst?: number;
          count?: "attempts" | "works";
        };
        maxWaiting?: number;
        unit?: string;
        asked: {
          total?: number;
          perKey?: number;
          rate?: {
            limit: number;
            per: number | string;
            burst?: number;
            count?: "attempts" | "works";
          };
          maxWaiting?: number;
          unit?: string;
        };
        origin: "code" | "config" | "override";
        override?: {
          total?: number;
          perKey?: number;
          rate?: {
            limit: number;
            per: number | string;
            burst?: number;
            count?: "attempts" | "works";
          };
          maxWaiting?: number;
          unit?: string;
          by?: string;
          at: number;
          until?: number;
        };
        paused?: { by?: string; at: number; until?: number };
        keys: Array<{
          name: string;
          key?: string;
          running: number;
          waiting: number;
          waitingIsAtLeast: boolean;
          oldest?: number;
          left?: number;
          total?: number;
          perKey?: number;
          rate?: {
            limit: number;
            per: number | string;
            burst?: number;
            count?: "attempts" | "works";
          };
          maxWaiting?: number;
          unit?: string;
          asked: {
            total?: number;
            perKey?: number;
            rate?: {
              limit: number;
              per: number | string;
              burst?: number;
              count?: "attempts" | "works";
            };
            maxWaiting?: number;
            unit?: string;
          };
          origin: "code" | "config" | "override";
          override?: {
            total?: number;
            perKey?: number;
            rate?: {
              limit: number;
              per: number | string;
              burst?: number;
              count?: "attempts" | "works";
            };
            maxWaiting?: number;
            unit?: string;
            by?: string;
            at: number;
            until?: number;
          };
          paused?: { by?: string; at: number; until?: number };
        }>;
      }>,
      Name
    >;
    override: FunctionReference<
      "mutation",
      "internal",
      {
        name: string;
        key?: string;
        until?: number;
        by?: string;
        total?: number;
        perKey?: number;
        rate?: {
          limit: number;
          per: number | string;
          burst?: number;
          count?: "attempts" | "works";
        };
        config?: {
          maxParallelism?: number;
          logLevel?: "DEBUG" | "TRACE" | "INFO" | "REPORT" | "WARN" | "ERROR";
          limits?: Record<
            string,
            {
              total?: number;
              perKey?: number;
              rate?: {
                limit: number;
                per: number | string;
                burst?: number;
                count?: "attempts" | "works";
              };
              maxWaiting?: number;
              unit?: string;
            }
          >;
        };
      },
      null,
      Name
    >;
    pause: FunctionReference<
      "mutation",
      "internal",
      {
        name: string;
        key?: string;
        until?: number;
        by?: string;
        config?: {
          maxParallelism?: number;
          logLevel?: "DEBUG" | "TRACE" | "INFO" | "REPORT" | "WARN" | "ERROR";
          limits?: Record<
            string,
            {
              total?: number;
              perKey?: number;
              rate?: {
                limit: number;
                per: number | string;
                burst?: number;
                count?: "attempts" | "works";
              };
              maxWaiting?: number;
              unit?: string;
            }
          >;
        };
      },
      null,
      Name
    >;
    reset: FunctionReference<
      "mutation",
      "internal",
      {
        name: string;
        key?: string;
        config?: {
          maxParallelism?: number;
          logLevel?: "DEBUG" | "TRACE" | "INFO" | "REPORT" | "WARN" | "ERROR";
          limits?: Record<
            string,
            {
              total?: number;
              perKey?: number;
              rate?: {
                limit: number;
                per: number | string;
                burst?: number;
                count?: "attempts" | "works";
              };
              maxWaiting?: number;
              unit?: string;
            }
          >;
        };
      },
      null,
      Name
    >;
    resume: FunctionReference<
      "mutation",
      "internal",
      {
        name: string;
        key?: string;
        config?: {
          maxParallelism?: number;
          logLevel?: "DEBUG" | "TRACE" | "INFO" | "REPORT" | "WARN" | "ERROR";
          limits?: Record<
            string,
            {
              total?: number;
              perKey?: number;
              rate?: {
                limit: number;
                per: number | string;
                burst?: number;
                count?: "attempts" | "works";
              };
              maxWaiting?: number;
              unit?: string;
            }
          >;
        };
      },
      null,
      Name
    >;
  };
  setAside: {
    list: FunctionReference<
      "query",
      "internal",
      { limit?: number },
      Array<{ workId: string; name?: string; error: string; at: number }>,
      Name
    >;
    retry: FunctionReference<"mutation", "internal", { id: string }, boolean, Name>;
  };
  settling: {
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
        permits?: Array<string>;
        waitAtMostMs?: number;
        fairness?: { key: string; weight: number };
        priorityMs?: number;
        spends?: Record<string, string>;
        onComplete?: {
          fn: string;
          context?: any;
          excludeKinds?: Array<"success" | "failed" | "canceled">;
        };
        maxParallelism?: number;
        logLevel?: "DEBUG" | "TRACE" | "INFO" | "REPORT" | "WARN" | "ERROR";
        limits?: Record<
          string,
          {
            total?: number;
            perKey?: number;
            rate?: {
              limit: number;
              per: number | string;
              burst?: number;
              count?: "attempts" | "works";
            };
            maxWaiting?: number;
            unit?: string;
          }
        >;
        timeoutMs?: number;
        argsList: Array<any>;
      },
      Array<string>,
      Name
    >;
    settle: FunctionReference<
      "mutation",
      "internal",
      {
        token: { workId: string; attempt: number };
        slot: string;
        outcome:
          | { kind: "success"; returnValue?: any }
          | { kind: "failed"; error: string; retryable?: boolean };
      },
      boolean,
      Name
    >;
    settleLater: FunctionReference<
      "mutation",
      "internal",
      { token: { workId: string; attempt: number }; slot: string; fn: string; args: any },
      null,
      Name
    >;
  };
  views: {
    delayed: FunctionReference<
      "query",
      "internal",
      {
        paginationOpts: {
          numItems: number;
          cursor: string | null;
          endCursor?: string | null;
          id?: number;
          maximumRowsRead?: number;
          maximumBytesRead?: number;
        };
      },
      {
        page: Array<{
          workId: string;
          kind: "action" | "mutation" | "query" | null;
          name: string | null;
          previousAttempts: number;
          at: number;
          canceled: boolean;
          stalled: boolean;
        }>;
        continueCursor: string;
        isDone: boolean;
        splitCursor?: string | null;
        pageStatus?: "SplitRecommended" | "SplitRequired" | null;
      },
      Name
    >;
    failedCallbacks: FunctionReference<
      "query",
      "internal",
      {
        paginationOpts: {
          numItems: number;
          cursor: string | null;
          endCursor?: string | null;
          id?: number;
          maximumRowsRead?: number;
          maximumBytesRead?: number;
        };
      },
      {
        page: Array<{
          id: string;
          workId: string;
          name?: string;
          resultKind: "success" | "failed" | "canceled";
          error: string;
          at: number;
        }>;
        continueCursor: string;
        isDone: boolean;
        splitCursor?: string | null;
        pageStatus?: "SplitRecommended" | "SplitRequired" | null;
      },
      Name
    >;
    forgetFailedCallback: FunctionReference<"mutation", "internal", { id: string }, null, Name>;
    running: FunctionReference<
      "query",
      "internal",
      {
        paginationOpts: {
          numItems: number;
          cursor: string | null;
          endCursor?: string | null;
          id?: number;
          maximumRowsRead?: number;
          maximumBytesRead?: number;
        };
      },
      {
        page: Array<{
          workId: string;
          kind: "action" | "mutation" | "query" | null;
          name: string | null;
          previousAttempts: number;
          at: number;
          canceled: boolean;
        }>;
        continueCursor: string;
        isDone: boolean;
        splitCursor?: string | null;
        pageStatus?: "SplitRecommended" | "SplitRequired" | null;
      },
      Name
    >;
    summary: FunctionReference<
      "query",
      "internal",
      {},
      {
        maxParallelism: number;
        running: number;
        waiting: number;
        waitingIsAtLeast: boolean;
        oldestWaitingSince: number | null;
        oldestRunningSince: number | null;
        logLevel: "DEBUG" | "TRACE" | "INFO" | "REPORT" | "WARN" | "ERROR";
        delayed: number;
        delayedIsAtLeast: boolean;
        overdue: number;
        failedCallbacks: number;
        lastReport: {
          since: number;
          at: number;
          succeeded: number;
          failed: number;
          retries: number;
          canceled: number;
        } | null;
        sinceReport: {
          since: number | null;
          succeeded: number;
          failed: number;
          retries: number;
          canceled: number;
        };
      },
      Name
    >;
    waiting: FunctionReference<
      "query",
      "internal",
      {
        paginationOpts: {
          numItems: number;
          cursor: string | null;
          endCursor?: string | null;
          id?: number;
          maximumRowsRead?: number;
          maximumBytesRead?: number;
        };
      },
      {
        page: Array<{
          workId: string;
          kind: "action" | "mutation" | "query" | null;
          name: string | null;
          previousAttempts: number;
          at: number;
          canceled: boolean;
        }>;
        continueCursor: string;
        isDone: boolean;
        splitCursor?: string | null;
        pageStatus?: "SplitRecommended" | "SplitRequired" | null;
      },
      Name
    >;
  };
};
