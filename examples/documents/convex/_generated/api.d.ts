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
import type * as _workflows_analyzeDocument from "../_workflows/analyzeDocument.js";
import type * as _workflows_analyzeSection from "../_workflows/analyzeSection.js";
import type * as _workflows_index from "../_workflows/index.js";
import type * as _workflows_workflows from "../_workflows/workflows.js";
import type * as documents from "../documents.js";
import type * as reports from "../reports.js";
import type * as text from "../text.js";
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
  "_workflows/analyzeDocument": typeof _workflows_analyzeDocument;
  "_workflows/analyzeSection": typeof _workflows_analyzeSection;
  "_workflows/index": typeof _workflows_index;
  "_workflows/workflows": typeof _workflows_workflows;
  documents: typeof documents;
  reports: typeof reports;
  text: typeof text;
  users: typeof users;
}>;
export declare const api: FilterApi<typeof fullApi, FunctionReference<any, "public">>;
export declare const internal: FilterApi<typeof fullApi, FunctionReference<any, "internal">>;

export declare const components: {
  workflow: import("@stepwise/workflow/_generated/component.js").ComponentApi<"workflow">;
};
