import type { GenericMutationCtx } from "convex/server";

/** How many stages one transaction executes at most … */
const MAX_STAGES = 20;
/** … and for how long, in ms: a third of the second of user time that a transaction has. */
const MAX_MS = 300;
/** The outputs go into one call to the component, whose arguments may take 16 MiB. */
const MAX_OUTPUT_BYTES = 4 * 1024 * 1024;

/** What one transaction may still take on; half of every limit of the platform stays for what the stage that is next may need. */
export class Budget {
  #stages = 0;
  #outputBytes = 0;
  readonly #since = performance.now();

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
}
