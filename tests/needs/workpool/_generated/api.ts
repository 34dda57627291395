import type { RateLimiter } from "@convex-dev/rate-limiter";
import type { Workpool } from "@convex-dev/workpool";
import {
  anyApi,
  type ApiFromModules,
  componentsGeneric,
  type FilterApi,
  type FunctionReference,
} from "convex/server";
import type * as answers from "../answers.js";
import type * as orders from "../orders.js";
import type * as requests from "../requests.js";
import type * as videos from "../videos.js";

/* What `npx convex dev` would generate. */

const api: FilterApi<
  ApiFromModules<{
    answers: typeof answers;
    orders: typeof orders;
    requests: typeof requests;
    videos: typeof videos;
  }>,
  FunctionReference<any, "internal">
> = anyApi as any;
export const internal = api;

interface Components {
  readonly rateLimiter: ConstructorParameters<typeof RateLimiter>[0];
  readonly workpool: ConstructorParameters<typeof Workpool>[0];
}
// It has a proxy for each name: these are mounted.
export const components = componentsGeneric() as unknown as Components;
