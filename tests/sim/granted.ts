import type { Deployment } from "@stepwise/testing";

const REFUSED = /TooManyWrites|TooManyConcurrentRequests/;

/** Makes a call again until the deployment, which may still be throttled, does not refuse it. */
export async function granted<Result>(
  deployment: Deployment,
  call: () => Promise<Result>,
): Promise<Result> {
  for (;;)
    try {
      return await call();
    } catch (error) {
      if (!REFUSED.test(String(error))) throw error;
      await deployment.advance(1_000);
    }
}
