/**
 * Why a call failed. `user`: the function threw. `conflict`: its attempts are used up. `permits`
 * and `bytes`: it was refused before it ran. `system`: the deployment itself failed.
 */
export type FailureKind = "user" | "conflict" | "permits" | "bytes" | "system";

/** How a function's call fails. `data` is that of a ConvexError. */
export class CallError extends Error {
  override readonly name = "CallError";
  constructor(
    message: string,
    readonly kind: FailureKind = "user",
    readonly data?: unknown,
  ) {
    super(message);
  }
}

/** Returns what a function has thrown, as its caller sees it. */
export function callErrorOf(thrown: unknown): CallError {
  if (thrown instanceof CallError) return thrown;
  if (typeof thrown !== "object" || thrown === null) return new CallError(String(thrown));
  const { message, data } = thrown as { message?: unknown; data?: unknown };
  // Of a ConvexError, that comes serialised.
  const parsed: unknown = typeof data === "string" ? JSON.parse(data) : data;
  return new CallError(typeof message === "string" ? message : "Uncaught", "user", parsed);
}
