/* eslint-disable */
/**
 * Generated `api` utility.
 *
 * THIS CODE IS AUTOMATICALLY GENERATED.
 *
 * To regenerate, run `npx convex dev`.
 * @module
 */

import type { ApiFromModules, FilterApi, FunctionReference } from "convex/server";
import type * as _workflows_approveExpense from "../_workflows/approveExpense.js";
import type * as _workflows_index from "../_workflows/index.js";
import type * as _workflows_workflows from "../_workflows/workflows.js";
import type * as expenses from "../expenses.js";
import type * as services from "../services.js";
import type * as users from "../users.js";

/**
 * A utility for referencing Convex functions in your app's API.
 *
 * Usage:
 * ```js
 * const myFunctionReference = api.myModule.myFunction;
 * ```
 */
declare const fullApi: ApiFromModules<{
  "_workflows/approveExpense": typeof _workflows_approveExpense;
  "_workflows/index": typeof _workflows_index;
  "_workflows/workflows": typeof _workflows_workflows;
  expenses: typeof expenses;
  services: typeof services;
  users: typeof users;
}>;
export declare const api: FilterApi<typeof fullApi, FunctionReference<any, "public">>;
export declare const internal: FilterApi<typeof fullApi, FunctionReference<any, "internal">>;

export declare const components: {
  workflow: import("@stepwise/workflow/_generated/component.js").ComponentApi<"workflow">;
};
