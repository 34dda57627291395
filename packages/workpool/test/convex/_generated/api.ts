import {
  type ApiFromModules,
  anyApi,
  componentsGeneric,
  type FilterApi,
  type FunctionReference,
} from "convex/server";
import type { ComponentApi } from "../../../src/component/_generated/component.js";
import type * as callbacks from "../callbacks.js";
import type * as fuzz from "../fuzz.js";
import type * as jobs from "../jobs.js";
import type * as settlers from "../settlers.js";

const fullApi: ApiFromModules<{
  callbacks: typeof callbacks;
  fuzz: typeof fuzz;
  jobs: typeof jobs;
  settlers: typeof settlers;
}> = anyApi as any;
export const internal: FilterApi<
  typeof fullApi,
  FunctionReference<any, "internal">
> = anyApi as any;

export const components = componentsGeneric() as unknown as {
  workpool: ComponentApi<"workpool">;
};
