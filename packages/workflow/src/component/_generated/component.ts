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
  bulk: {
    get: FunctionReference<
      "query",
      "internal",
      { bulkId: string },
      {
        do: "cancel" | "pause" | "resume" | "restart" | "cleanup";
        from?: string;
        called?: string;
        where: {
          workflow?: string;
          state?:
            | "pending"
            | "running"
            | "compensating"
            | "completed"
            | "failed"
            | "canceled"
            | "timedOut";
          notOfPlan?: string;
          since?: number;
          until?: number;
          text?: string;
          children?: boolean;
          key?: string;
          parent?: string;
          stages?: Array<string>;
          tag?: Record<string, string | number | boolean>;
          doing?:
            | "stalled"
            | "running"
            | "queued"
            | "retrying"
            | "waitingForEvent"
            | "sleeping"
            | "collecting"
            | "waitingForTurn";
        };
        atMost?: number;
        perSecond?: number;
        state: "running" | "completed" | "stopped" | "halted";
        done: number;
        refused: number;
        refusals: Array<{ why: string; count: number; runId: string }>;
        endedAt?: number;
        bulkId: string;
        startedAt: number;
      } | null,
      Name
    >;
    list: FunctionReference<
      "query",
      "internal",
      {
        page: {
          numItems: number;
          cursor: string | null;
          endCursor?: string | null;
          id?: number;
          maximumRowsRead?: number;
          maximumBytesRead?: number;
        };
      },
      {
        isDone: boolean;
        continueCursor: string;
        page: Array<{
          do: "cancel" | "pause" | "resume" | "restart" | "cleanup";
          from?: string;
          called?: string;
          where: {
            workflow?: string;
            state?:
              | "pending"
              | "running"
              | "compensating"
              | "completed"
              | "failed"
              | "canceled"
              | "timedOut";
            notOfPlan?: string;
            since?: number;
            until?: number;
            text?: string;
            children?: boolean;
            key?: string;
            parent?: string;
            stages?: Array<string>;
            tag?: Record<string, string | number | boolean>;
            doing?:
              | "stalled"
              | "running"
              | "queued"
              | "retrying"
              | "waitingForEvent"
              | "sleeping"
              | "collecting"
              | "waitingForTurn";
          };
          atMost?: number;
          perSecond?: number;
          state: "running" | "completed" | "stopped" | "halted";
          done: number;
          refused: number;
          refusals: Array<{ why: string; count: number; runId: string }>;
          endedAt?: number;
          bulkId: string;
          startedAt: number;
        }>;
      },
      Name
    >;
    start: FunctionReference<
      "mutation",
      "internal",
      {
        do: "cancel" | "pause" | "resume" | "restart" | "cleanup";
        from?: string;
        called?: string;
        where: {
          workflow?: string;
          state?:
            | "pending"
            | "running"
            | "compensating"
            | "completed"
            | "failed"
            | "canceled"
            | "timedOut";
          notOfPlan?: string;
          since?: number;
          until?: number;
          text?: string;
          children?: boolean;
          key?: string;
          parent?: string;
          stages?: Array<string>;
          tag?: Record<string, string | number | boolean>;
          doing?:
            | "stalled"
            | "running"
            | "queued"
            | "retrying"
            | "waitingForEvent"
            | "sleeping"
            | "collecting"
            | "waitingForTurn";
        };
        atMost?: number;
        perSecond?: number;
        retentionMs?: number;
      },
      string,
      Name
    >;
    stop: FunctionReference<
      "mutation",
      "internal",
      { bulkId: string },
      "stopped" | "ended" | "unknown",
      Name
    >;
  };
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
  events: {
    giveBack: FunctionReference<
      "mutation",
      "internal",
      { run: string; name: string; value: any; given?: { value?: any }; takenAt: number },
      null,
      Name
    >;
    look: FunctionReference<
      "query",
      "internal",
      {
        run: string;
        names: Array<string>;
        stage: string;
        races?: number;
        after?: { at: number; wasTaken: boolean; ids: Array<string> };
      },
      {
        events: Array<{
          name: string;
          value: any;
          given?: { value?: any };
          id: string;
          takenAt?: number;
          since: number;
        }>;
        after?: { at: number; wasTaken: boolean; ids: Array<string> };
      },
      Name
    >;
    send: FunctionReference<
      "mutation",
      "internal",
      {
        workflow: string;
        run: { runId: string } | { key: string };
        name: string;
        value: any;
        given?: { value?: any };
        receivers: Array<{
          stage: string;
          refuses?: boolean;
          value?: any;
          loop?: string;
          within?: string;
          matches?: boolean;
          races?: Array<{ stage: string; loop?: string; within?: string; case: string }>;
        }>;
        others?: Array<string>;
      },
      | { kind: "taken" | "kept" | "past" | "unknown" }
      | { kind: "full"; kept: number }
      | {
          kind: "ended";
          state:
            | "pending"
            | "running"
            | "compensating"
            | "completed"
            | "failed"
            | "canceled"
            | "timedOut";
        }
      | { kind: "refused"; stage: string }
      | { kind: "elsewhere"; stage: string }
      | { kind: "unmatched"; stage: string; why?: string }
      | { kind: "tooLarge"; bytes: number; most: number },
      Name
    >;
    take: FunctionReference<
      "mutation",
      "internal",
      { run: string; names: Array<string>; stage: string; races?: number; id?: string },
      {
        name: string;
        value: any;
        given?: { value?: any };
        id: string;
        takenAt?: number;
        since: number;
      } | null,
      Name
    >;
  };
  lib: {
    checked: FunctionReference<
      "mutation",
      "internal",
      { stage: string; fn: string; args: any },
      any,
      Name
    >;
    gather: FunctionReference<
      "mutation",
      "internal",
      {
        token: {
          run: string;
          step: string;
          attempt: number;
          uncounted?: number;
          iterations?: Array<number>;
          generation?: number;
          plan?: string;
          parentOfMany?: string;
        };
        how?: { size?: number; keep?: "last" | "first" | "all" };
      },
      { input: any; given?: { value?: any }; collected?: boolean } | null,
      Name
    >;
    gathered: FunctionReference<
      "mutation",
      "internal",
      {
        token: {
          run: string;
          step: string;
          attempt: number;
          uncounted?: number;
          iterations?: Array<number>;
          generation?: number;
          plan?: string;
          parentOfMany?: string;
        };
        tags?: Record<string, string | number | boolean>;
        one?: { key: string; otherwise: "wait" | "skip" | "cancelOld" | "newestWaits" };
        standing?: { priorityMs?: number; fairness?: { key: string; weight: number } };
      },
      null,
      Name
    >;
    isCalledOff: FunctionReference<
      "query",
      "internal",
      {
        token: {
          run: string;
          step: string;
          attempt: number;
          uncounted?: number;
          iterations?: Array<number>;
          generation?: number;
          plan?: string;
          parentOfMany?: string;
        };
      },
      boolean,
      Name
    >;
    isCanceled: FunctionReference<
      "query",
      "internal",
      {
        token: {
          run: string;
          step: string;
          attempt: number;
          uncounted?: number;
          iterations?: Array<number>;
          generation?: number;
          plan?: string;
          parentOfMany?: string;
        };
        orPaused?: boolean;
      },
      boolean,
      Name
    >;
    keep: FunctionReference<
      "mutation",
      "internal",
      {
        token: {
          run: string;
          step: string;
          attempt: number;
          uncounted?: number;
          iterations?: Array<number>;
          generation?: number;
          plan?: string;
          parentOfMany?: string;
        };
        slot: string;
        report:
          | { kind: "success"; output: any; beganAt?: number }
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
                reason?: "waiting";
                waitedFor?: string;
                data?: any;
                workflow: string;
                node: string;
                attempt: number;
                key?: string;
                cause?: any;
                causes?: any;
                compensationErrors?: Array<any>;
              };
              retryAt?: number;
              holds?: string;
              beganAt?: number;
            };
      },
      null,
      Name
    >;
    load: FunctionReference<
      "query",
      "internal",
      {
        run: string;
        reads: Array<{
          name: string;
          stage: string;
          iterations?: Array<number>;
          children?: boolean;
          tolerant?: boolean;
          race?: boolean;
          loop?: boolean;
          cause?: boolean;
          ended?: boolean;
          undoing?: boolean;
          up?: number;
          sensitive?: boolean;
        }>;
        most?: number;
      },
      any,
      Name
    >;
    outputs: FunctionReference<
      "query",
      "internal",
      {
        run: string;
        stage: string;
        iterations?: Array<number>;
        from: number;
        most: number;
        tolerant: boolean;
      },
      { outputs: Array<{ key: string | number; output: any }>; isLast: boolean },
      Name
    >;
    reduced: FunctionReference<
      "query",
      "internal",
      { run: string; stage: string; iterations?: Array<number> },
      { value: any; from: number },
      Name
    >;
    reparsed: FunctionReference<
      "mutation",
      "internal",
      {
        token: {
          run: string;
          step: string;
          attempt: number;
          uncounted?: number;
          iterations?: Array<number>;
          generation?: number;
          plan?: string;
          parentOfMany?: string;
        };
        input: any;
        given?: { value?: any };
        collected?: boolean;
        tags?: Record<string, string | number | boolean>;
      },
      null,
      Name
    >;
    settle: FunctionReference<
      "mutation",
      "internal",
      {
        token: {
          run: string;
          step: string;
          attempt: number;
          uncounted?: number;
          iterations?: Array<number>;
          generation?: number;
          plan?: string;
          parentOfMany?: string;
        };
        slot?: string;
        scheduled?: boolean;
        plan?: string;
        entry?: string;
        outcome:
          | {
              kind: "success";
              output: any;
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
                reason?: "waiting";
                waitedFor?: string;
                data?: any;
                workflow: string;
                node: string;
                attempt: number;
                key?: string;
                cause?: any;
                causes?: any;
                compensationErrors?: Array<any>;
              };
              loop?: any;
              used?: Record<string, number>;
              took?: {
                name?: string;
                within?: Array<string>;
                given?: { value?: any };
                takenAt?: number;
              };
              timedOut?: boolean;
            }
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
                reason?: "waiting";
                waitedFor?: string;
                data?: any;
                workflow: string;
                node: string;
                attempt: number;
                key?: string;
                cause?: any;
                causes?: any;
                compensationErrors?: Array<any>;
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
                reason?: "waiting";
                waitedFor?: string;
                data?: any;
                workflow: string;
                node: string;
                attempt: number;
                key?: string;
                cause?: any;
                causes?: any;
                compensationErrors?: Array<any>;
              };
              dueAt: number;
              holds?: string;
            }
          | { kind: "open" };
        beganAt?: number;
        fused: Array<{
          stage: string;
          iterations?: Array<number>;
          called?: string;
          part?: "output" | "finalize" | "compensate";
          kind:
            | "input"
            | "entry"
            | "turn"
            | "collect"
            | "action"
            | "mutation"
            | "query"
            | "children"
            | "sleep"
            | "event"
            | "branch"
            | "loop"
            | "end";
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
            reason?: "waiting";
            waitedFor?: string;
            data?: any;
            workflow: string;
            node: string;
            attempt: number;
            key?: string;
            cause?: any;
            causes?: any;
            compensationErrors?: Array<any>;
          };
          iteration?: number;
          isOver?: boolean;
          chosen?: string;
          took?: {
            name?: string;
            within?: Array<string>;
            given?: { value?: any };
            takenAt?: number;
          };
          timedOut?: boolean;
          exists?: boolean;
          sensitive?: boolean;
          undoable?: boolean;
          loop?: any;
        }>;
        reduced?: { stage: string; iterations?: Array<number>; value: any };
        deadlines?: Array<{
          stage: string;
          iterations?: Array<number>;
          called?: string;
          part?: "output" | "finalize" | "compensate";
          ms?: number;
          recovers?: boolean;
        }>;
        next:
          | {
              kind: "stage";
              stage: {
                stage: string;
                iterations?: Array<number>;
                called?: string;
                part?: "output" | "finalize" | "compensate";
                action?: {
                  fn: string;
                  timeoutMs?: number;
                  waitAtMostMs?: number;
                  permits?: Array<string>;
                };
                reads: Array<{
                  name: string;
                  stage: string;
                  iterations?: Array<number>;
                  children?: boolean;
                  tolerant?: boolean;
                  race?: boolean;
                  loop?: boolean;
                  cause?: boolean;
                  ended?: boolean;
                  undoing?: boolean;
                  up?: number;
                  sensitive?: boolean;
                }>;
                sensitive?: boolean;
                undoable?: boolean;
                afterFailure?: boolean;
                alone?: boolean;
              };
            }
          | {
              kind: "children";
              children: {
                stage: string;
                iterations?: Array<number>;
                called?: string;
                part?: "output" | "finalize" | "compensate";
                begins: Array<{
                  workflow: string;
                  workflowName?: string;
                  plan?: string;
                  entry: string;
                  first: {
                    stage: string;
                    iterations?: Array<number>;
                    called?: string;
                    part?: "output" | "finalize" | "compensate";
                    action?: {
                      fn: string;
                      timeoutMs?: number;
                      waitAtMostMs?: number;
                      permits?: Array<string>;
                    };
                    reads: Array<{
                      name: string;
                      stage: string;
                      iterations?: Array<number>;
                      children?: boolean;
                      tolerant?: boolean;
                      race?: boolean;
                      loop?: boolean;
                      cause?: boolean;
                      ended?: boolean;
                      undoing?: boolean;
                      up?: number;
                      sensitive?: boolean;
                    }>;
                    sensitive?: boolean;
                    undoable?: boolean;
                    afterFailure?: boolean;
                    alone?: boolean;
                  };
                  timeoutMs?: number;
                  retentionMs?: number;
                  within?: string;
                  undoable?: boolean;
                  onEnd?: boolean;
                  sensitive?: Array<string>;
                }>;
                pages: Array<
                  Array<{
                    begin: number;
                    key?: string;
                    called?: string;
                    input: any;
                    given?: { value?: any };
                    collected?: boolean;
                    one?: { key: string; otherwise: "wait" | "skip" | "cancelOld" | "newestWaits" };
                    standing?: { priorityMs?: number; fairness?: { key: string; weight: number } };
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
                      reason?: "waiting";
                      waitedFor?: string;
                      data?: any;
                      workflow: string;
                      node: string;
                      attempt: number;
                      key?: string;
                      cause?: any;
                      causes?: any;
                      compensationErrors?: Array<any>;
                    };
                  }>
                >;
                keyed: boolean;
                concurrency?: number;
                tolerate?: "all" | { failures: number } | { percentage: number };
                single?: boolean;
                race?: { takesAny?: boolean; keepsLosers?: boolean };
                sensitive?: boolean;
              };
            }
          | {
              kind: "sleep" | "event";
              stage: string;
              iterations?: Array<number>;
              called?: string;
              part?: "output" | "finalize" | "compensate";
              until?: number;
              names?: Array<string>;
              storedNames?: Array<string>;
              sensitive?: boolean;
            }
          | {
              kind: "reduce";
              stage: string;
              iterations?: Array<number>;
              accumulated: any;
              from: number;
            }
          | {
              kind: "complete";
              stage: string | null;
              iterations?: Array<number>;
              undoable: boolean;
            }
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
                reason?: "waiting";
                waitedFor?: string;
                data?: any;
                workflow: string;
                node: string;
                attempt: number;
                key?: string;
                cause?: any;
                causes?: any;
                compensationErrors?: Array<any>;
              };
              stage?: string;
              sensitive?: boolean;
              ofCompletion?: boolean;
            }
          | { kind: "undone" }
          | { kind: "wait" };
        left?: { stages: number; ms: number };
        starting?: { parent: string; job?: string; stages: number; ms: number };
      },
      {
        stale: boolean;
        queued?: { row: string; scope: any };
        goesOn?: {
          token: {
            run: string;
            step: string;
            attempt: number;
            uncounted?: number;
            iterations?: Array<number>;
            generation?: number;
            plan?: string;
            parentOfMany?: string;
          };
          stage: string;
          event:
            | { kind: "arrive"; hasKeys?: boolean; hasTime?: boolean }
            | { kind: "settled" }
            | { kind: "due" }
            | { kind: "got"; name: string; value: any; given?: { value?: any } }
            | { kind: "success"; output: any; beganAt?: number }
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
                  reason?: "waiting";
                  waitedFor?: string;
                  data?: any;
                  workflow: string;
                  node: string;
                  attempt: number;
                  key?: string;
                  cause?: any;
                  causes?: any;
                  compensationErrors?: Array<any>;
                };
                retryAt?: number;
                holds?: string;
                beganAt?: number;
              };
          entered: number;
        };
      },
      Name
    >;
    start: FunctionReference<
      "mutation",
      "internal",
      {
        begin: {
          workflow: string;
          workflowName?: string;
          plan?: string;
          entry: string;
          first: {
            stage: string;
            iterations?: Array<number>;
            called?: string;
            part?: "output" | "finalize" | "compensate";
            action?: {
              fn: string;
              timeoutMs?: number;
              waitAtMostMs?: number;
              permits?: Array<string>;
            };
            reads: Array<{
              name: string;
              stage: string;
              iterations?: Array<number>;
              children?: boolean;
              tolerant?: boolean;
              race?: boolean;
              loop?: boolean;
              cause?: boolean;
              ended?: boolean;
              undoing?: boolean;
              up?: number;
              sensitive?: boolean;
            }>;
            sensitive?: boolean;
            undoable?: boolean;
            afterFailure?: boolean;
            alone?: boolean;
          };
          timeoutMs?: number;
          retentionMs?: number;
          within?: string;
          undoable?: boolean;
          onEnd?: boolean;
          sensitive?: Array<string>;
        };
        starts: Array<{
          input: any;
          given?: { value?: any };
          collected?: boolean;
          key?: string;
          tags?: Record<string, string | number | boolean>;
          one?: { key: string; otherwise: "wait" | "skip" | "cancelOld" | "newestWaits" };
          standing?: { priorityMs?: number; fairness?: { key: string; weight: number } };
          collect?: {
            key: string;
            quietMs: number;
            atMostMs: number;
            size?: number;
            keep: "last" | "first" | "all";
          };
          permits?: Array<string>;
        }>;
        reuse?: "ended" | "failed";
        at?: number;
        onComplete?: { fn: string; context: any };
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
      Array<{ runId: string; started: boolean }>,
      Name
    >;
    tag: FunctionReference<
      "mutation",
      "internal",
      { run: string; name: string; value: string | number | boolean },
      null,
      Name
    >;
    unbegun: FunctionReference<
      "query",
      "internal",
      {
        token: {
          run: string;
          step: string;
          attempt: number;
          uncounted?: number;
          iterations?: Array<number>;
          generation?: number;
          plan?: string;
          parentOfMany?: string;
        };
      },
      { input: any; given?: { value?: any }; collected?: boolean; hasTurn?: boolean } | null,
      Name
    >;
    unlock: FunctionReference<
      "mutation",
      "internal",
      {
        token: {
          run: string;
          step: string;
          attempt: number;
          uncounted?: number;
          iterations?: Array<number>;
          generation?: number;
          plan?: string;
          parentOfMany?: string;
        };
      },
      null,
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
  listing: {
    count: FunctionReference<
      "query",
      "internal",
      {
        workflow?: string;
        state?:
          "pending" | "running" | "compensating" | "completed" | "failed" | "canceled" | "timedOut";
        notOfPlan?: string;
        since?: number;
        until?: number;
        text?: string;
        children?: boolean;
        key?: string;
        parent?: string;
        stages?: Array<string>;
        tag?: Record<string, string | number | boolean>;
        doing?:
          | "stalled"
          | "running"
          | "queued"
          | "retrying"
          | "waitingForEvent"
          | "sleeping"
          | "collecting"
          | "waitingForTurn";
        upTo?: number;
      },
      { count: number; isMore: boolean },
      Name
    >;
    place: FunctionReference<
      "query",
      "internal",
      { runId: string },
      {
        path: string;
        doing:
          | "stalled"
          | "running"
          | "queued"
          | "retrying"
          | "waitingForEvent"
          | "sleeping"
          | "collecting"
          | "waitingForTurn";
        since: number;
        dueAt?: number;
      } | null,
      Name
    >;
    poolUse: FunctionReference<
      "query",
      "internal",
      {},
      {
        holders: Array<{ runId: string; workflow: string; path: string; since: number }>;
        queue: Array<{ workflow: string; permits?: Array<string>; count: number; since: number }>;
        limited: Array<{ workflow: string; permits?: Array<string>; count: number; since: number }>;
        isMore: boolean;
      },
      Name
    >;
    reached: FunctionReference<
      "query",
      "internal",
      { runId: string; workflow?: string; stages: Array<string> },
      Array<string>,
      Name
    >;
    runs: FunctionReference<
      "query",
      "internal",
      {
        workflow?: string;
        state?:
          "pending" | "running" | "compensating" | "completed" | "failed" | "canceled" | "timedOut";
        notOfPlan?: string;
        since?: number;
        until?: number;
        text?: string;
        children?: boolean;
        key?: string;
        parent?: string;
        stages?: Array<string>;
        tag?: Record<string, string | number | boolean>;
        doing?:
          | "stalled"
          | "running"
          | "queued"
          | "retrying"
          | "waitingForEvent"
          | "sleeping"
          | "collecting"
          | "waitingForTurn";
        places?: boolean;
        page: {
          numItems: number;
          cursor: string | null;
          endCursor?: string | null;
          id?: number;
          maximumRowsRead?: number;
          maximumBytesRead?: number;
        };
      },
      {
        isDone: boolean;
        continueCursor: string;
        page: Array<{
          runId: string;
          workflow: string;
          state:
            | "pending"
            | "running"
            | "compensating"
            | "completed"
            | "failed"
            | "canceled"
            | "timedOut";
          key?: string;
          plan?: string;
          generation: number;
          parentRunId?: string;
          within?: string;
          createdAt: number;
          startedAt: number;
          endedAt?: number;
          paused: boolean;
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
            reason?: "waiting";
            waitedFor?: string;
            data?: any;
            workflow: string;
            node: string;
            attempt: number;
            key?: string;
            cause?: any;
            causes?: any;
            compensationErrors?: Array<any>;
          };
          index?: number;
          childKey?: string;
          tags?: Record<string, string | number | boolean>;
          waitsFor?: { key: string; runId?: string; place: number };
          collecting?: { key: string; items: number; until: number };
          input?: string;
          at?: {
            path: string;
            doing:
              | "stalled"
              | "running"
              | "queued"
              | "retrying"
              | "waitingForEvent"
              | "sleeping"
              | "collecting"
              | "waitingForTurn";
            since: number;
            dueAt?: number;
          };
        }>;
        read: number;
      },
      Name
    >;
    steps: FunctionReference<
      "query",
      "internal",
      {
        runId: string;
        workflow?: string;
        page: {
          numItems: number;
          cursor: string | null;
          endCursor?: string | null;
          id?: number;
          maximumRowsRead?: number;
          maximumBytesRead?: number;
        };
      },
      {
        state:
          "pending" | "running" | "compensating" | "completed" | "failed" | "canceled" | "timedOut";
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
          reason?: "waiting";
          waitedFor?: string;
          data?: any;
          workflow: string;
          node: string;
          attempt: number;
          key?: string;
          cause?: any;
          causes?: any;
          compensationErrors?: Array<any>;
        };
        generation: number;
        within?: string;
        isDone: boolean;
        continueCursor: string;
        records: Array<{
          kind:
            | "input"
            | "entry"
            | "turn"
            | "collect"
            | "action"
            | "mutation"
            | "query"
            | "children"
            | "sleep"
            | "event"
            | "branch"
            | "loop"
            | "end";
          iterations?: Array<number>;
          state:
            "pending" | "running" | "waiting" | "completed" | "failed" | "canceled" | "timedOut";
          attempt: number;
          held?: number;
          holds?: string;
          queuedAt?: number;
          beganAt?: number;
          waitsFor?: {
            limit: string;
            key?: string;
            running: number;
            atMost: number;
            place: number;
            fairness?: string;
            nextAt?: number;
            paused?: { by?: string; until?: number };
            until?: number;
          };
          dueAt?: number;
          came?: string | null;
          events?: Array<string>;
          iteration?: number;
          retries?: Array<{
            attempt: number;
            beganAt?: number;
            failedAt: number;
            nextAt: number;
            holds?: string;
          }>;
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
            reason?: "waiting";
            waitedFor?: string;
            data?: any;
            workflow: string;
            node: string;
            attempt: number;
            key?: string;
            cause?: any;
            causes?: any;
            compensationErrors?: Array<any>;
          }>;
          called?: string;
          chosen?: string;
          children?: {
            total: number;
            done: number;
            failed: number;
            canceled: number;
            running: number;
            isEstimate?: boolean;
          };
          id?: string;
          single?: boolean;
          stage: string;
          generation: number;
          startedAt: number;
          endedAt?: number;
          output?: any;
          sensitive: boolean;
          undone: boolean;
          paused: boolean;
        }>;
      } | null,
      Name
    >;
  };
  steering: {
    cancel: FunctionReference<
      "mutation",
      "internal",
      { run: { runId: string } | { key: string }; workflow?: string },
      "canceled" | "ended" | "unknown",
      Name
    >;
    cleanup: FunctionReference<
      "mutation",
      "internal",
      { runId: string },
      "removed" | "goes on" | "child" | "unknown",
      Name
    >;
    isCompleted: FunctionReference<
      "query",
      "internal",
      { run: string; stage: string; iterations?: Array<number>; generation: number },
      boolean,
      Name
    >;
    keptInput: FunctionReference<
      "query",
      "internal",
      { runId: string; workflow: string },
      { input: any; given?: { value?: any }; collected?: boolean } | null,
      Name
    >;
    pause: FunctionReference<
      "mutation",
      "internal",
      { run: { runId: string } | { key: string }; workflow?: string },
      "paused" | "ended" | "unknown",
      Name
    >;
    repair: FunctionReference<
      "mutation",
      "internal",
      { plans?: Array<{ workflow: string; plan: string; isOpen?: boolean }> },
      null,
      Name
    >;
    restart: FunctionReference<
      "mutation",
      "internal",
      {
        runId: string;
        begin: {
          workflow: string;
          workflowName?: string;
          plan?: string;
          entry: string;
          first: {
            stage: string;
            iterations?: Array<number>;
            called?: string;
            part?: "output" | "finalize" | "compensate";
            action?: {
              fn: string;
              timeoutMs?: number;
              waitAtMostMs?: number;
              permits?: Array<string>;
            };
            reads: Array<{
              name: string;
              stage: string;
              iterations?: Array<number>;
              children?: boolean;
              tolerant?: boolean;
              race?: boolean;
              loop?: boolean;
              cause?: boolean;
              ended?: boolean;
              undoing?: boolean;
              up?: number;
              sensitive?: boolean;
            }>;
            sensitive?: boolean;
            undoable?: boolean;
            afterFailure?: boolean;
            alone?: boolean;
          };
          timeoutMs?: number;
          retentionMs?: number;
          within?: string;
          undoable?: boolean;
          onEnd?: boolean;
          sensitive?: Array<string>;
        };
        nodes: Array<{ name: string; stage: string; reads: Array<string> }>;
        from?: string;
        one?: { key: string; otherwise: "wait" | "skip" | "cancelOld" | "newestWaits" };
        standing?: { priorityMs?: number; fairness?: { key: string; weight: number } };
        loop?: {
          first: string;
          last: string | null;
          deadline?: {
            stage: string;
            iterations?: Array<number>;
            called?: string;
            part?: "output" | "finalize" | "compensate";
            ms?: number;
            recovers?: boolean;
          };
          iteration?: number;
        };
        input?: { input: any; given?: { value?: any }; collected?: boolean };
        tags?: Record<string, string | number | boolean>;
      },
      "restarted" | "goes on" | "key taken" | "no iteration" | "no input" | "child" | "unknown",
      Name
    >;
    resume: FunctionReference<
      "mutation",
      "internal",
      { run: { runId: string } | { key: string }; workflow?: string },
      "resumed" | "not paused" | "unknown",
      Name
    >;
    retained: FunctionReference<
      "query",
      "internal",
      { run: string; generation: number },
      Array<string>,
      Name
    >;
  };
  views: {
    input: FunctionReference<"query", "internal", { runId: string }, any, Name>;
    pool: FunctionReference<
      "query",
      "internal",
      {},
      {
        maxParallelism: number;
        running: number;
        waiting: number;
        oldestWaitingSince?: number;
        retrying: number;
        nextRetryAt?: number;
        watchdogAt?: number;
      },
      Name
    >;
    status: FunctionReference<
      "query",
      "internal",
      { run: { runId: string } | { key: string }; workflow?: string },
      {
        runId: string;
        workflow: string;
        state:
          "pending" | "running" | "compensating" | "completed" | "failed" | "canceled" | "timedOut";
        key?: string;
        plan?: string;
        generation: number;
        parentRunId?: string;
        within?: string;
        createdAt: number;
        startedAt: number;
        endedAt?: number;
        paused: boolean;
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
          reason?: "waiting";
          waitedFor?: string;
          data?: any;
          workflow: string;
          node: string;
          attempt: number;
          key?: string;
          cause?: any;
          causes?: any;
          compensationErrors?: Array<any>;
        };
        input?: any;
        tags?: Record<string, string | number | boolean>;
        waitsFor?: { key: string; runId?: string; place: number };
        collecting?: { key: string; items: number; until: number };
        expiresAt?: number;
        timesOutAt?: number;
        active: Array<{
          kind:
            | "input"
            | "entry"
            | "turn"
            | "collect"
            | "action"
            | "mutation"
            | "query"
            | "children"
            | "sleep"
            | "event"
            | "branch"
            | "loop"
            | "end";
          iterations?: Array<number>;
          state:
            "pending" | "running" | "waiting" | "completed" | "failed" | "canceled" | "timedOut";
          attempt: number;
          held?: number;
          holds?: string;
          queuedAt?: number;
          beganAt?: number;
          waitsFor?: {
            limit: string;
            key?: string;
            running: number;
            atMost: number;
            place: number;
            fairness?: string;
            nextAt?: number;
            paused?: { by?: string; until?: number };
            until?: number;
          };
          dueAt?: number;
          came?: string | null;
          events?: Array<string>;
          iteration?: number;
          retries?: Array<{
            attempt: number;
            beganAt?: number;
            failedAt: number;
            nextAt: number;
            holds?: string;
          }>;
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
            reason?: "waiting";
            waitedFor?: string;
            data?: any;
            workflow: string;
            node: string;
            attempt: number;
            key?: string;
            cause?: any;
            causes?: any;
            compensationErrors?: Array<any>;
          }>;
          called?: string;
          chosen?: string;
          children?: {
            total: number;
            done: number;
            failed: number;
            canceled: number;
            running: number;
            isEstimate?: boolean;
          };
          node: string;
          since: number;
          timesOutAt?: number;
          paused?: boolean;
          stalled?: boolean;
          doing?:
            | "stalled"
            | "running"
            | "queued"
            | "retrying"
            | "waitingForEvent"
            | "sleeping"
            | "collecting"
            | "waitingForTurn";
        }>;
        stalled: boolean;
        steered?: Array<{
          what: "paused" | "resumed" | "canceled" | "restarted";
          at: number;
          from?: string;
        }>;
        kept: Array<{ name: string; count: number; since: number }>;
        output?: any;
        isSensitive?: boolean;
        onEndError?: string;
        onCompleteError?: string;
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
          workflow: string;
          state:
            | "pending"
            | "running"
            | "compensating"
            | "completed"
            | "failed"
            | "canceled"
            | "timedOut";
          key?: string;
          plan?: string;
          generation: number;
          parentRunId?: string;
          within?: string;
          createdAt: number;
          startedAt: number;
          endedAt?: number;
          paused: boolean;
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
            reason?: "waiting";
            waitedFor?: string;
            data?: any;
            workflow: string;
            node: string;
            attempt: number;
            key?: string;
            cause?: any;
            causes?: any;
            compensationErrors?: Array<any>;
          };
          parentStage?: string;
          index: number;
          steps: Array<{
            kind:
              | "input"
              | "entry"
              | "turn"
              | "collect"
              | "action"
              | "mutation"
              | "query"
              | "children"
              | "sleep"
              | "event"
              | "branch"
              | "loop"
              | "end";
            iterations?: Array<number>;
            state:
              "pending" | "running" | "waiting" | "completed" | "failed" | "canceled" | "timedOut";
            attempt: number;
            held?: number;
            holds?: string;
            queuedAt?: number;
            beganAt?: number;
            waitsFor?: {
              limit: string;
              key?: string;
              running: number;
              atMost: number;
              place: number;
              fairness?: string;
              nextAt?: number;
              paused?: { by?: string; until?: number };
              until?: number;
            };
            dueAt?: number;
            came?: string | null;
            events?: Array<string>;
            iteration?: number;
            retries?: Array<{
              attempt: number;
              beganAt?: number;
              failedAt: number;
              nextAt: number;
              holds?: string;
            }>;
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
              reason?: "waiting";
              waitedFor?: string;
              data?: any;
              workflow: string;
              node: string;
              attempt: number;
              key?: string;
              cause?: any;
              causes?: any;
              compensationErrors?: Array<any>;
            }>;
            stage: string;
            startedAt: number;
            endedAt?: number;
          }>;
        }>;
        truncated: boolean;
      } | null,
      Name
    >;
  };
  waits: {
    list: FunctionReference<
      "query",
      "internal",
      {
        runId: string;
        page: {
          numItems: number;
          cursor: string | null;
          endCursor?: string | null;
          id?: number;
          maximumRowsRead?: number;
          maximumBytesRead?: number;
        };
      },
      {
        isDone: boolean;
        continueCursor: string;
        page: Array<{
          runId: string;
          workflow: string;
          key?: string;
          path: string;
          node: string;
          iterations?: Array<number>;
          events: Array<string>;
          input?: any;
          since: number;
          dueAt?: number;
          paused?: boolean;
        }>;
      },
      Name
    >;
  };
};
