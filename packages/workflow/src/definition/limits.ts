import type { Limits } from "@stepwise/workpool/core";
import type { Register } from "./context.js";

/** The limits of the app's config, as the generated code registers them. Default: any. */
export type Registered = Register extends { limits: infer Of extends Limits } ? Of : Limits;

type Names = keyof Registered & string;
/** The names of the limits that have a field, or may have it. */
type NamesWith<Field extends string> = {
  [Name in Names]: Field extends keyof Registered[Name] ? Name : never;
}[Names];
/** The limits with keys, and those that count a unit. All if the config is not known. */
type KeyedNames = NamesWith<"perKey">;
type UnitNames = NamesWith<"unit">;
/** The limits that have neither: all if the config is not known. */
type PlainNames = string extends Names ? string : Exclude<Names, KeyedNames | UnitNames>;

/** Returns the key of a limit, or undefined if the limit does not apply. */
type KeyOf<Scope> = (scope: Scope) => string | undefined;

interface Estimated<Output> {
  /** How much it will probably use. Its start takes that much. */
  readonly estimate: number;
  /**
   * Returns how much it has used, a number from 0. Write the handler before `limits`, so that
   * `output` has its type. Default: the estimate.
   */
  readonly spend?: (of: { output: Output }) => number;
}

/** What an action says about a limit that counts a `unit`. @typeParam Output that of the action */
export interface BudgetOption<Scope, Output = unknown> extends Estimated<Output> {
  /** The key. A limit with `perKey` needs it. */
  readonly key?: KeyOf<Scope>;
}

/** What is given for a limit of the config. */
type For<Name extends Names, Scope, Output> = string extends Names
  ? KeyOf<Scope> | true | BudgetOption<Scope, Output>
  : Name extends UnitNames
    ? Name extends KeyedNames
      ? Estimated<Output> & { readonly key: KeyOf<Scope> }
      : Estimated<Output> & { readonly key?: undefined }
    : Name extends KeyedNames
      ? KeyOf<Scope>
      : true;

type Keyed<Scope, Output> = { readonly [Name in Names]?: For<Name, Scope, Output> };

/**
 * The limits of an action: the names of those without keys, `["exports"]`, or functions for the
 * keys, `{ tenant: ({ input }) => input.org }`. A list can hold both. Keys are shown.
 * @typeParam Output that of the action, which `spend` reads. Default: unknown, because the actions
 *   of a workflow have different ones.
 */
export type LimitsOption<Scope, Output = unknown> =
  Keyed<Scope, Output> | readonly (PlainNames | Keyed<Scope, Output>)[];
