import { useQuery, type OptionalRestArgsOrSkip } from "convex/react";
import type { FunctionReference, FunctionReturnType } from "convex/server";
import type { Status } from "../client/status.js";

/** A public query of your app that returns the result of `workflow.status`. */
export type StatusQuery = FunctionReference<
  "query",
  "public",
  Record<string, unknown>,
  Status<unknown> | null
>;

/** A run's status, or `loading` or `missing` while there is no run to show. */
export type LiveRun<OfRun = Status<unknown>> =
  { state: "loading" } | { state: "missing" } | NonNullable<OfRun>;

/**
 * Subscribes to a run's status through a query of your app, which decides who may see the run.
 *
 * ```tsx
 * const run = useRun(api.expenses.status, { expenseId });
 * if (run.state === "completed") return <p>{run.output}</p>;
 * ```
 * @param args the query's arguments, or `"skip"`: then it stays `loading`.
 * @returns the status; `loading` until it is known, `missing` if the query returned null.
 */
export function useRun<Query extends StatusQuery>(
  query: Query,
  ...args: OptionalRestArgsOrSkip<Query>
): LiveRun<FunctionReturnType<Query>> {
  const status = useQuery(query, ...args);
  if (status === undefined) return { state: "loading" };
  return status ?? { state: "missing" };
}
