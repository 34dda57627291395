import type { ApiFromModules, FilterApi, FunctionReference } from "convex/server";
import type * as _workflows_badChild from "../_workflows/badChild.js";
import type * as _workflows_index from "../_workflows/index.js";
import type * as _workflows_kinds from "../_workflows/kinds.js";
import type * as adversarial from "../adversarial.js";
import type * as app from "../app.js";
import type * as ballast from "../ballast.js";
import type * as handed from "../handed.js";
import type * as manager from "../manager.js";
import type * as refusals from "../refusals.js";
import type * as review from "../review.js";
import type * as runs from "../runs.js";
import type * as totals from "../totals.js";

declare const fullApi: ApiFromModules<{
  "_workflows/badChild": typeof _workflows_badChild;
  "_workflows/index": typeof _workflows_index;
  "_workflows/kinds": typeof _workflows_kinds;
  adversarial: typeof adversarial;
  app: typeof app;
  ballast: typeof ballast;
  handed: typeof handed;
  manager: typeof manager;
  refusals: typeof refusals;
  review: typeof review;
  runs: typeof runs;
  totals: typeof totals;
}>;
export declare const api: FilterApi<typeof fullApi, FunctionReference<any, "public">>;
export declare const internal: FilterApi<typeof fullApi, FunctionReference<any, "internal">>;
export declare const components: {
  workflow: import("@stepwise/workflow/_generated/component.js").ComponentApi<"workflow">;
};
