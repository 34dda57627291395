import type { Value } from "convex/values";

/** A value that may be missing: an argument of a function cannot be undefined. */
export interface Maybe {
  readonly value?: Value;
}

/**
 * The name of a table, and which of its documents, by a number that is taken modulo how many there
 * are.
 */
export interface Place {
  readonly table: "things" | "others";
  readonly pick: number;
}

export interface Bound extends Maybe {
  readonly is: "eq" | "gt" | "gte" | "lt" | "lte";
  readonly field: string;
}

export interface Filter extends Maybe {
  readonly is: "eq" | "neq" | "gt" | "gte" | "lt" | "lte";
  readonly field: string;
  readonly not?: boolean;
}

export interface QueryOf {
  readonly table: "things" | "others" | "_scheduled_functions";
  readonly index?: string;
  readonly bounds: readonly Bound[];
  readonly search?: { readonly words: string; readonly kind?: string };
  readonly order?: "asc" | "desc";
  readonly filters: readonly Filter[];
}

/**
 * What {@link run} does. In a document, the string `commitTs` of the field `ts` stands for the time
 * of the commit.
 */
export type Operation =
  | { readonly do: "insert"; readonly table: Place["table"]; readonly document: Fields }
  | { readonly do: "patch" | "replace"; readonly place: Place; readonly document: Fields }
  | { readonly do: "delete"; readonly place: Place }
  | {
      readonly do: "query";
      readonly query: QueryOf;
      readonly end: "collect" | "first" | "unique" | "take" | "count" | "limit";
      readonly most: number;
    }
  /**
   * Goes through a query's results, does `between` after `after` of them, and stops after `most`.
   */
  | {
      readonly do: "iterate";
      readonly query: QueryOf;
      readonly after: number;
      readonly between: readonly Operation[];
      readonly most: number;
    }
  /** Page by page; `between` is done after each, which is then read again. */
  | {
      readonly do: "pages";
      readonly query: QueryOf;
      readonly size: number;
      readonly rows?: number;
      readonly between: readonly Operation[];
    }
  /** In a transaction inside of this one, which fails in the end or does not. */
  | {
      readonly do: "nested";
      readonly where: "here" | "component";
      readonly operations: readonly Operation[];
      readonly fails: boolean;
    }
  /** In a query inside of this transaction, which sees what is pending or does not. */
  | { readonly do: "look"; readonly stale: boolean; readonly operations: readonly Operation[] }
  | { readonly do: "schedule"; readonly afterMs: number; readonly operations: readonly Operation[] }
  | { readonly do: "cancel"; readonly pick: number };

/** A field is taken away by a {@link Maybe} without a value. */
export type Fields = Readonly<Record<string, Maybe>>;
