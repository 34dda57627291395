import type { Left } from "../component/protocol.js";
import type { MutationCtx } from "../definition/context.js";

/** How many stages one transaction executes at most … */
const MAX_STAGES = 20;
/** … and for how long, in ms: a third of the second of user time that a transaction has. */
const MAX_MS = 300;
/** Outputs go into one call to the component, whose arguments may take 16 MiB. */
const MAX_OUTPUT_BYTES = 4 * 1024 * 1024;

/** The least that a pause or a cancel does. */
const STEERING = { databaseQueries: 4, documentsWritten: 2 };

/** What one transaction may still do. The next stage may need half of every limit. */
export class Budget {
  #stages = 0;
  #outputBytes = 0;
  readonly #since = performance.now();
  #before = { databaseQueries: 0, documentsWritten: 0 };

  constructor(readonly most: Left = { stages: MAX_STAGES, ms: MAX_MS }) {}

  /** What is left of it; undefined if that is nothing. */
  async left(ctx: MutationCtx): Promise<Left | undefined> {
    if (await this.isSpent(ctx)) return undefined;
    const { stages, ms } = this.most;
    return { stages: stages - this.#stages, ms: ms - (performance.now() - this.#since) };
  }

  /** @param outputBytes of its output, and of what is reported with that. */
  spend(outputBytes: number): void {
    this.#stages++;
    this.#outputBytes += outputBytes;
  }

  async isSpent(ctx: MutationCtx): Promise<boolean> {
    if (
      this.#stages >= this.most.stages ||
      this.#outputBytes > MAX_OUTPUT_BYTES ||
      performance.now() - this.#since > this.most.ms
    )
      return true;
    const metrics = await ctx.meta.getTransactionMetrics();
    return Object.values(metrics).some(({ used, remaining }) => used > remaining);
  }

  /** Says whether what ran since the last call may have steered the run. Mostly it cannot have. */
  async mayBeSteered(ctx: MutationCtx): Promise<boolean> {
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
