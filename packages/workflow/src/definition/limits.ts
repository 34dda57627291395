import type { Limits } from "@stepwise/workpool/core";
import type { Register } from "./context.js";

/** The limits of the app's config, as the generated code registers them. Default: any. */
export type Registered = Register extends { limits: infer Of extends Limits } ? Of : Limits;

type Names = keyof Registered & string;
/** Those that have keys, or may have. */
type KeyedNames = {
  [Name in Names]: "perKey" extends keyof Registered[Name] ? Name : never;
}[Names];
/** Those that have none, or may have none: all if the config is not known. */
type PlainNames = string extends Names ? string : Exclude<Names, KeyedNames | UnitNames>;

/** How the key of a limit is made. One that is undefined is none: the limit does not hold. */
type KeyOf<Scope> = (scope: Scope) => string | undefined;

/** Those that count a unit, or may count one. */
type UnitNames = {
  [Name in Names]: "unit" extends keyof Registered[Name] ? Name : never;
}[Names];

/** What an action says of a limit that counts a `unit`. */
export interface BudgetOption<Scope> {
  /** How much it will use, as far as is known before: its start takes so much. */
  readonly estimate: number;
  /**
   * How much it has used, of its output. Default: as was estimated. Its output is `any`: a type
   * that is inferred from the action is not known yet where its limits are read.
   */
  readonly spend?: (of: { output: any }) => number;
  /** For a limit with `perKey`. */
  readonly key?: KeyOf<Scope>;
}

type Keyed<Scope> = {
  readonly [Name in Names]?:
    | (Name extends KeyedNames ? KeyOf<Scope> : never)
    | (Name extends PlainNames ? true : never)
    | (Name extends UnitNames ? BudgetOption<Scope> : never);
};

/**
 * The limits of an action: the names of those without keys, `["exports"]`, and how keys are made,
 * `{ tenant: ({ input }) => input.org }`, or both in one list. Keys are shown.
 */
export type LimitsOption<Scope> = Keyed<Scope> | readonly (PlainNames | Keyed<Scope>)[];
