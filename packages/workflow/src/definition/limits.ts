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
type PlainNames = string extends Names ? string : Exclude<Names, KeyedNames>;

/** How the key of a limit is made. One that is undefined is none: the limit does not hold. */
type KeyOf<Scope> = (scope: Scope) => string | undefined;

type Keyed<Scope> = {
  readonly [Name in Names]?:
    (Name extends KeyedNames ? KeyOf<Scope> : never) | (Name extends PlainNames ? true : never);
};

/**
 * The limits of an action: the names of those without keys, `["exports"]`, and how keys are made,
 * `{ tenant: ({ input }) => input.org }`, or both in one list. Keys are shown.
 */
export type LimitsOption<Scope> = Keyed<Scope> | readonly (PlainNames | Keyed<Scope>)[];
