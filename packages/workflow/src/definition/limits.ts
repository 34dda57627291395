import type { KeysOf, Limits } from "@stepwise/workpool/core";
import type { Register } from "./context.js";

/** The limits of the app's config, as the generated code registers them. Default: any. */
type Registered = Register extends { limits: infer Of extends Limits } ? Of : Limits;

/** For each limit how its key is made of the scope, or `true` if it takes none. */
type Keyed<Scope> = {
  readonly [Name in keyof Registered]?: KeysOf<Registered>[Name] extends infer Key
    ? (true extends Key ? true : never) | (string extends Key ? KeyOf<Scope> : never)
    : never;
};

/** A key that is undefined is none: the limit does not hold for that action. */
type KeyOf<Scope> = (scope: Scope) => string | undefined;

/**
 * The limits of an action: the names of those without keys, `["exports"]`, and how keys are made,
 * `{ tenant: ({ input }) => input.org }`, or both in one list. Keys are shown.
 */
export type LimitsOption<Scope> =
  | Keyed<Scope>
  | readonly ((keyof Registered & string) | Keyed<Scope>)[];
