import type { StandardSchemaV1 } from "@standard-schema/spec";
import type { GenericValidator, Infer, Value } from "convex/values";

/*
 * Checks in types whether a handler's result can be stored. If not, a string literal that names the
 * place and what to write instead shows up in the editor as the type that the handler should have.
 */

export type IsAny<T> = 0 extends 1 & T ? true : false;

/* Not every `lib` has it. */
type Url = typeof globalThis extends { URL: { prototype: infer Known } } ? Known : never;

type NotStorable<T> = T extends Date
  ? "A Date is not a Convex value: return date.getTime()"
  : T extends ReadonlyMap<unknown, unknown>
    ? "A Map is not a Convex value: return Object.fromEntries(map) or [...map]"
    : T extends ReadonlySet<unknown>
      ? "A Set is not a Convex value: return [...set]"
      : T extends (...args: never[]) => unknown
        ? "A function is not a Convex value"
        : T extends PromiseLike<unknown>
          ? "A Promise inside a result: await it first"
          : T extends RegExp | Error | Url
            ? "A class instance is not a Convex value"
            : T extends symbol
              ? "A symbol is not a Convex value"
              : never;

/** Types are checked to this depth. */
type MaxDepth = 6;

type Problem<
  T,
  Path extends string = "result",
  Depth extends 0[] = [],
> = Depth["length"] extends MaxDepth
  ? never
  : [T] extends [Value | undefined | void]
    ? never
    : [NotStorable<T>] extends [never]
      ? T extends readonly (infer Element)[]
        ? Problem<Element, `${Path}[]`, [...Depth, 0]>
        : T extends object
          ? { [K in keyof T & string]: Problem<T[K], `${Path}.${K}`, [...Depth, 0]> }[keyof T &
              string]
          : never
      : `${Path}: ${NotStorable<T>}`;

/** Intersected with a node: puts the problem in the place of these members. */
export type ValidAt<Member extends string, T> = Checked<Member, Given<T>>;

type Checked<Member extends string, T> = [T] extends [Value | undefined | void]
  ? unknown
  : unknown extends T
    ? unknown
    : [Problem<T>] extends [never]
      ? unknown
      : { [Key in Member]?: Problem<T> };

/** The same for what a node's handler returns. */
export type Valid<Result> = ValidAt<"action" | "mutation" | "query", Result>;

/** The type itself, but nothing is inferred from here. Unlike `NoInfer`, editors do not show it. */
export type Given<T> = [T][T extends unknown ? 0 : never];

/** A result as it is stored: nothing returned is null. */
export type Stored<T> = IsAny<T> extends true ? T : T extends void | undefined ? null : T;

/** Why a result cannot be stored; `Else` if it can. */
export type Misfit<T, Else> = [Problem<T>] extends [never] ? Else : Problem<T>;

/** What `input` takes: any Standard Schema (zod, valibot, arktype …), or a Convex validator. */
export type AnySchema = StandardSchemaV1 | GenericValidator;

/** What `workflow.start` takes for a schema. */
export type InferInput<Schema> = Schema extends StandardSchemaV1
  ? StandardSchemaV1.InferInput<Schema>
  : Schema extends GenericValidator
    ? Infer<Schema>
    : never;

/** What handlers see for a schema: parsed, with defaults and transformations. */
export type InferOutput<Schema> = Schema extends StandardSchemaV1
  ? StandardSchemaV1.InferOutput<Schema>
  : Schema extends GenericValidator
    ? Infer<Schema>
    : never;

/** `input` or a path inside it, such as `input.card.number`. Lists have no part in it. */
export type SensitivePath<T, Path extends string = "input", Depth extends 0[] = []> =
  | Path
  | (unknown extends T
      ? `${Path}.${string}`
      : Depth["length"] extends MaxDepth
        ? `${Path}.${string}`
        : T extends readonly (infer Element)[]
          ? SensitivePath<Element, Path, [...Depth, 0]>
          : T extends ArrayBuffer
            ? never
            : T extends object
              ? {
                  [K in keyof T & string]-?: SensitivePath<T[K], `${Path}.${K}`, [...Depth, 0]>;
                }[keyof T & string]
              : never);
