import type { GenericMutationCtx } from "convex/server";

/** How many stages one transaction executes at most … */
const MAX_STAGES = 20;
/** … and for how long, in ms: a third of the second of user time that a transaction has. */
const MAX_MS = 300;
/**
 * The outputs, and what their compensations are to see of a loop, go into one call to the
 * component, whose arguments may take 16 MiB.
 */
const MAX_OUTPUT_BYTES = 4 * 1024 * 1024;

/**
 * What whoever pauses or cancels a run does at least: gets it, looks for what is active of it in
 * three states, and writes that and the run.
 */
const STEERING = { databaseQueries: 4, documentsWritten: 2 };

/** What one transaction may still do. The next stage may need half of every limit. */
export class Budget {
  #stages = 0;
  #outputBytes = 0;
  readonly #since = performance.now();
  #before = { databaseQueries: 0, documentsWritten: 0 };

  /** @param outputBytes of its output, and of what is reported with that. */
  spend(outputBytes: number): void {
    this.#stages++;
    this.#outputBytes += outputBytes;
  }

  async isSpent(ctx: GenericMutationCtx<any>): Promise<boolean> {
    if (
      this.#stages >= MAX_STAGES ||
      this.#outputBytes > MAX_OUTPUT_BYTES ||
      performance.now() - this.#since > MAX_MS
    )
      return true;
    const metrics = await ctx.meta.getTransactionMetrics();
    return Object.values(metrics).some(({ used, remaining }) => used > remaining);
  }

  /**
   * Whether what was executed since this was asked last may have steered the run. It seldom has;
   * but most that has not can be told so.
   */
  async mayBeSteered(ctx: GenericMutationCtx<any>): Promise<boolean> {
    const { databaseQueries, documentsWritten } = await ctx.meta.getTransactionMetrics();
    const now = { databaseQueries: databaseQueries.used, documentsWritten: documentsWritten.used };
    const before = this.#before;
    this.#before = now;
    return (
      now.databaseQueries - before.databaseQueries >= STEERING.databaseQueries &&
      now.documentsWritten - before.documentsWritten >= STEERING.documentsWritten
    );
  }
}
