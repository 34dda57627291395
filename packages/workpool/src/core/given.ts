import { getFunctionAddress } from "convex/server";
import { isPlain, literalText } from "./literal.js";
import { wellFormed } from "./result.js";
import { misshapeOf } from "./shape.js";

/*
 * Options as JavaScript may give them. Types say the same, but `any` and plain JavaScript let
 * everything through: the caller is told which option is wrong, before anything is done.
 */

/** What an option may be, and how a message says it. */
export interface Kind {
  readonly what: string;
  readonly is: (value: unknown) => boolean;
}

const kind = (what: string, is: Kind["is"]): Kind => ({ what, is });

export const isText = (value: unknown): value is string =>
  typeof value === "string" && wellFormed(value) === value;

function isWhole(value: unknown): value is number {
  return Number.isSafeInteger(value);
}

export const TEXT = kind("a text", isText);
export const FLAG = kind("true or false", (value) => typeof value === "boolean");
export const WHOLE = kind("a whole number", isWhole);
export const COUNT = kind("a whole number from 1", (value) => isWhole(value) && value >= 1);
export const TIME = kind(
  "ms since the epoch",
  (value) => typeof value === "number" && !Number.isNaN(value),
);
export const OBJECT = kind("an object", isPlain);
export const ANY = kind("anything", () => true);
export const among = (...words: readonly string[]): Kind =>
  kind(words.map((word) => `"${word}"`).join(" or "), (value) => words.includes(value as string));

/** Says whether it is a function of an app: a reference, a handle or a path. */
export function isFunction(given: unknown): boolean {
  if (typeof given === "string") return given !== "";
  try {
    return getFunctionAddress(given) !== undefined;
  } catch {
    // Convex throws, for some values without a text of its own.
    return false;
  }
}

/** What each option of a call may be. */
export type Kinds = Readonly<Record<string, Kind>>;

/**
 * Checks the options of a call; each of them may be undefined.
 * @param subject what is called, such as `Starting "order"`.
 * @param what what messages call all of them.
 * @throws if they are no object, or one is of another kind.
 */
export function checkGiven(subject: string, given: unknown, kinds: Kinds, what = "options"): void {
  if (!isPlain(given))
    throw new TypeError(`${subject}: ${what} is ${literalText(given)}: give an object`);
  for (const [name, { is, what: fits }] of Object.entries(kinds)) {
    const value = given[name];
    if (value !== undefined && !is(value))
      throw new TypeError(`${subject}: ${name} is ${literalText(value)}: give ${fits}`);
  }
}

/** @throws as {@link checkGiven}, and if there is one that is not known. */
export function checkAllGiven(subject: string, given: unknown, kinds: Kinds, what?: string): void {
  checkGiven(subject, given, kinds, what);
  const unknown = Object.entries(given as object).find(
    ([name, value]) => value !== undefined && !Object.hasOwn(kinds, name),
  );
  if (unknown !== undefined)
    throw new TypeError(
      `${subject}: there is no ${literalText(unknown[0])}: there is ${Object.keys(kinds).join(", ")}`,
    );
}

/** @throws if there is one that a validator does not know. */
export function checkFields(subject: string, given: object, { fields }: { fields: object }): void {
  const kinds = Object.keys(fields).map((name) => [name, ANY]);
  checkAllGiven(subject, given, Object.fromEntries(kinds) as Kinds);
}

/** @throws if it is no text. */
export function checkText(subject: string, name: string, given: unknown): void {
  checkGiven(subject, { [name]: given ?? null }, { [name]: TEXT });
}

/** How deep a value is at most that is a field of a document, which has 16 levels. */
const LEVELS_OF_A_FIELD = 15;

/** @throws if it is no Convex value, with the place. Whether it fits is asked where it is stored. */
export function checkValue(
  subject: string,
  name: string,
  given: unknown,
  levels = LEVELS_OF_A_FIELD,
): void {
  const misshape = misshapeOf(given, name, levels);
  if (misshape === undefined) return;
  const { isTooLarge, text } = misshape;
  throw new TypeError(`${subject}: ${isTooLarge ? `${name} ${text}` : text}`);
}

/** @throws if they are no object, or hold what no function can be called with. */
export function checkArgs(subject: string, name: string, given: unknown): void {
  checkGiven(subject, given, {}, name);
  checkValue(subject, name, given);
}
