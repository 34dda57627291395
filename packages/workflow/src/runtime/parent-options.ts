import { Failure } from "../errors/failure.js";

/** @throws where no child could ever start. */
export function checkConcurrency(stage: string, concurrency: number | undefined): void {
  if (concurrency === undefined || concurrency === Infinity) return;
  if (Number.isInteger(concurrency) && concurrency >= 1) return;
  throw new Failure(
    "thrown",
    `The concurrency of "${stage}" is ${concurrency}: it must be a whole number from 1`,
  );
}

/** @throws where it is neither "all", nor a number of failures from 0, nor a percentage from 0 to 100. */
export function checkTolerate(stage: string, tolerate: unknown): void {
  if (tolerate === undefined || tolerate === "all") return;
  const { failures, percentage } = Object(tolerate) as { failures?: number; percentage?: number };
  const isCount = failures !== undefined && failures >= 0 && percentage === undefined;
  const isShare =
    percentage !== undefined && percentage >= 0 && percentage <= 100 && failures === undefined;
  if (isCount || isShare) return;
  throw new Failure(
    "thrown",
    `The tolerate of "${stage}" is ${JSON.stringify(tolerate)}: it must be { failures: n } with n from 0, { percentage: p } with p from 0 to 100, or "all"`,
  );
}
