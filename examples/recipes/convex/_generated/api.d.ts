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
import type * as _workflows_drip from "../_workflows/drip.js";
import type * as _workflows_fulfilOrder from "../_workflows/fulfilOrder.js";
import type * as _workflows_importCustomer from "../_workflows/importCustomer.js";
import type * as _workflows_importCustomers from "../_workflows/importCustomers.js";
import type * as _workflows_index from "../_workflows/index.js";
import type * as _workflows_research from "../_workflows/research.js";
import type * as _workflows_workflows from "../_workflows/workflows.js";
import type * as _workflows_writeArticle from "../_workflows/writeArticle.js";
import type * as articles from "../articles.js";
import type * as crons from "../crons.js";
import type * as expenses from "../expenses.js";
import type * as importing from "../importing.js";
import type * as imports from "../imports.js";
import type * as leads from "../leads.js";
import type * as orders from "../orders.js";
import type * as services from "../services.js";
import type * as stock from "../stock.js";
import type * as users from "../users.js";
import type * as writer from "../writer.js";

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
  "_workflows/drip": typeof _workflows_drip;
  "_workflows/fulfilOrder": typeof _workflows_fulfilOrder;
  "_workflows/importCustomer": typeof _workflows_importCustomer;
  "_workflows/importCustomers": typeof _workflows_importCustomers;
  "_workflows/index": typeof _workflows_index;
  "_workflows/research": typeof _workflows_research;
  "_workflows/workflows": typeof _workflows_workflows;
  "_workflows/writeArticle": typeof _workflows_writeArticle;
  articles: typeof articles;
  crons: typeof crons;
  expenses: typeof expenses;
  importing: typeof importing;
  imports: typeof imports;
  leads: typeof leads;
  orders: typeof orders;
  services: typeof services;
  stock: typeof stock;
  users: typeof users;
  writer: typeof writer;
}>;
export declare const api: FilterApi<typeof fullApi, FunctionReference<any, "public">>;
export declare const internal: FilterApi<typeof fullApi, FunctionReference<any, "internal">>;

export declare const components: {
  workflow: import("@stepwise/workflow/_generated/component.js").ComponentApi<"workflow">;
};
