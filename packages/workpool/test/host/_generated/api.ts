import { type ApiFromModules, anyApi, type FilterApi, type FunctionReference } from "convex/server";
import type * as chains from "../chains.js";
import type * as pool from "../pool.js";

const fullApi: ApiFromModules<{ chains: typeof chains; pool: typeof pool }> = anyApi as any;
export const internal: FilterApi<
  typeof fullApi,
  FunctionReference<any, "internal">
> = anyApi as any;
