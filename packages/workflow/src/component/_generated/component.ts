/* eslint-disable */
/**
 * Generated `ComponentApi` utility.
 *
 * THIS CODE IS AUTOMATICALLY GENERATED.
 *
 * To regenerate, run `npx convex dev`.
 * @module
 */
import type { FunctionReference, RegisteredMutation, RegisteredQuery } from "convex/server";
import type * as lib from "../lib.js";
import type * as views from "../views.js";

type Expose<F, Name extends string | undefined> =
  F extends RegisteredQuery<"public", infer Args, infer Result>
    ? FunctionReference<"query", "internal", Args, Awaited<Result>, Name>
    : F extends RegisteredMutation<"public", infer Args, infer Result>
      ? FunctionReference<"mutation", "internal", Args, Awaited<Result>, Name>
      : never;

/**
 * A utility for referencing a Convex component's exposed API.
 */
export type ComponentApi<Name extends string | undefined = string | undefined> = {
  lib: { [F in keyof typeof lib]: Expose<(typeof lib)[F], Name> };
  views: {
    status: Expose<(typeof views)["status"], Name>;
    tree: Expose<(typeof views)["tree"], Name>;
  };
};
