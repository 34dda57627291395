import { ConvexError } from "convex/values";

const MARKER = "~limit";

/** The fields of a {@link LimitError}. */
export interface LimitReached {
  /** The limit for which too many wait. */
  readonly limit: string;
  /** Its key; absent if the limit has none. */
  readonly key?: string | undefined;
  /** How many waited already. */
  readonly waiting: number;
}

/**
 * Thrown by an enqueue or a start that would have to wait for a limit whose `maxWaiting` is
 * reached. Nothing was enqueued or started. Its data has the same fields as it has itself.
 */
export class LimitError
  extends ConvexError<{
    [MARKER]: true;
    message: string;
    limit: string;
    key?: string;
    waiting: number;
  }>
  implements LimitReached
{
  readonly limit: string;
  readonly key: string | undefined;
  readonly waiting: number;

  constructor({ limit, key, waiting }: LimitReached) {
    const of = key === undefined ? "" : ` of "${key}"`;
    const message = `Too many would wait for the limit "${limit}"${of}: ${waiting} do already, and its maxWaiting has no room for what was to be added`;
    super({ [MARKER]: true, message, limit, ...(key !== undefined && { key }), waiting });
    this.name = "LimitError";
    this.message = message;
    [this.limit, this.key, this.waiting] = [limit, key, waiting];
  }
}

/** Makes what has come out of a component the error again that was thrown there. */
export async function withLimitError<Result>(call: () => Promise<Result>): Promise<Result> {
  try {
    return await call();
  } catch (error) {
    throw error instanceof ConvexError && isMarked(error.data) ? new LimitError(error.data) : error;
  }
}

const isMarked = (data: unknown): data is LimitError["data"] =>
  typeof data === "object" && data !== null && MARKER in data;
