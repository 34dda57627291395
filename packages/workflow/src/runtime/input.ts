import { isPlain, isPromise, literalText, misshapeOf } from "@stepwise/workpool/core";
import type { StandardSchemaV1 } from "@standard-schema/spec";
import { validate } from "convex-helpers/validators";
import { compareValues, type GenericValidator, getConvexSize, v, type Value } from "convex/values";
import type { Given } from "../component/validators.js";
import type { AnySchema } from "../definition/values.js";
import { describeThrown, Failure } from "../errors/failure.js";
import { withoutValues } from "../errors/hidden.js";
import type { WorkflowReference } from "./reference.js";
import { checkStorable, copied, MAX_VALUE_BYTES } from "../values.js";

/**
 * How deep a value can be: a document has 16 levels, and inputs are stored in a page of children,
 * events in a union.
 */
export const MAX_DEPTH = 13;

interface Named {
  readonly subject: string;
  readonly root: string;
  /** The paths, from the root on, that no message reveals. */
  readonly sensitive?: readonly string[];
}

/** Parses a value. @throws a {@link Failure} `invalidInput` with every issue, or `tooLarge`. */
export function parseValue(named: Named, schema: AnySchema, value: unknown): Value {
  const { subject, sensitive = [] } = named;
  if (isPromise(value)) throw new Misfit("invalidInput", `${subject} is ${literalText(value)}`);
  try {
    const parsed =
      "~standard" in schema ? parse(named, schema, value) : check(named, schema, value);
    checkStorable(parsed, {
      ...named,
      maxDepth: MAX_DEPTH,
      kind: "invalidInput",
      cannot: "cannot be stored as its schema gives it",
      advice: PASS_AN_ID,
    });
    return parsed;
  } catch (error) {
    leavePromises(value);
    if (sensitive.length === 0 || error instanceof Misfit) throw error;
    const { kind, message } = withoutValues(describeThrown(error), "it is sensitive");
    const refused = `${subject} is refused: why is not shown, as it is sensitive`;
    throw new Failure("invalidInput", kind === "tooLarge" ? message : refused);
  }
}

/** Nothing waits for the promises in a value that is refused. */
function leavePromises(value: unknown, levels = MAX_DEPTH): void {
  if (isPromise(value) || levels === 0) return;
  if (Array.isArray(value) || isPlain(value))
    for (const each of Object.values(value)) leavePromises(each, levels - 1);
}

/**
 * A parsed value, and what code that takes it later parses again if that is something else: what
 * was given, where the parsed value does not parse to itself. What cannot be stored is not given.
 * @param again parses it then, if it has another form than what is given.
 */
export function parsedOf(
  parse: (value: unknown) => Value,
  given: unknown,
  again = parse,
): { value: Value; given?: Given } {
  const value = parse(given);
  if (value === given) return { value };
  try {
    if (isSame(again(value), value)) return { value };
  } catch {
    // It takes another type than it makes.
  }
  try {
    const raw = copied(given) as Value;
    const isSmall = getConvexSize(raw) + getConvexSize(value) <= MAX_VALUE_BYTES;
    const stored = isSmall && misshapeOf(raw, "", MAX_DEPTH - 1) === undefined;
    return { value, given: stored ? { value: raw } : {} };
  } catch {
    return { value, given: {} };
  }
}

/** Says whether two values are stored as one and the same. */
export function isSame(one: Value, other: Value): boolean {
  return compareValues(copied(one) as Value, copied(other) as Value) === 0;
}

/** An input as it is kept. `collected`: as the component's `vIsCollected` says. */
export interface KeptInput {
  input: Value;
  given?: Given;
  collected?: boolean;
}

/** An input that nothing has collected, as it is kept. @throws as `parse` does. */
export function inputOf(
  { parse }: Pick<WorkflowReference<never>, "parse">,
  given: unknown,
): KeptInput {
  const { value: input, ...rest } = parsedOf(parse, given);
  const { value: again } = rest.given ?? { value: input };
  return { input, ...rest, ...(looksCollected(again) && { collected: false }) };
}

/** Says whether a value has the form of the items that a `collect` keeps, of whatever schema. */
export function looksCollected(value: unknown): value is { items: unknown[] } {
  const { items, ...others }: { items?: unknown } = Object(value);
  return Array.isArray(items) && Object.keys(others).length === 0;
}

/** It says itself what does not fit, without what is sensitive. */
class Misfit extends Failure {}

export const PASS_AN_ID = "Put it into file storage or a table, and pass its id";

function parse(named: Named, schema: StandardSchemaV1, value: unknown): Value {
  const { subject, root } = named;
  const { result, error } = validated(schema, value);
  if (result === undefined) {
    const { message, data } = describeThrown(error);
    throw new Failure(
      "invalidInput",
      `${subject} has a schema whose check throws or is asynchronous (${message}). A mutation cannot wait for it: move that check into a step`,
      data,
    );
  }
  if (result.issues === undefined) return result.value as Value;
  const issues = result.issues.map(({ message, path = [] }) => {
    const place = path.map((part) => String(typeof part === "object" ? part.key : part)).join(".");
    return { place: place === "" ? root : `${root}.${place}`, message };
  });
  throw invalid(named, issues);
}

/** Returns what a schema says, or what its check throws. */
function validated(
  schema: StandardSchemaV1 & { parse?(value: unknown): unknown },
  value: unknown,
): { result?: StandardSchemaV1.Result<unknown>; error?: unknown } {
  try {
    const result = schema["~standard"].validate(value);
    if (!isPromise(result)) return { result };
    // Of a check that throws, Zod makes a promise too; only its `parse` throws the same error.
    schema.parse?.(value);
    return { error: new Error("it gives a promise") };
  } catch (error) {
    return { error };
  }
}

function check(named: Named, validator: GenericValidator, value: unknown): Value {
  if (!validate(validator, value)) throw invalid(named, misfits(validator, value, named.root));
  return value as Value;
}

/** What does not fit, and where: `input.card`. */
interface Issue {
  readonly place: string;
  readonly message: string;
}

/** Returns which parts of a value do not fit. Of a union it is not known which member was meant. */
function misfits(validator: GenericValidator, value: unknown, path: string): Issue[] {
  if (validate(validator, value)) return [];
  const inside = misfitsInside(validator, value, path);
  return inside.length > 0 ? inside : [{ place: path, message: reason(validator, value) }];
}

function misfitsInside(validator: GenericValidator, value: unknown, path: string): Issue[] {
  if (validator.kind === "array" && Array.isArray(value))
    return value.flatMap((each, index) => misfits(validator.element, each, `${path}.${index}`));
  // Such as a Date: its fields are not what does not fit.
  if (!validate(v.object({}), value, { allowUnknownFields: true })) return [];
  const given = value as Readonly<Record<string, unknown>>;
  if (validator.kind === "record")
    return Object.entries(given)
      .filter(([, each]) => each !== undefined)
      .flatMap(([name, each]) => [
        ...misfits(validator.key, name, `${path}.${name}`),
        ...misfits(validator.value, each, `${path}.${name}`),
      ]);
  if (validator.kind !== "object") return [];
  const { fields } = validator;
  return [
    ...Object.entries(fields).flatMap(([name, of]) => misfits(of, given[name], `${path}.${name}`)),
    ...Object.entries(given)
      .filter(([name, each]) => fields[name] === undefined && each !== undefined)
      .map(([name, each]) => {
        const message = `Expected \`nothing\`, got \`${typeof each}\``;
        return { place: `${path}.${name}`, message };
      }),
  ];
}

/** Returns why a value does not fit: for a union, why it fits none of the members. */
function reason(validator: GenericValidator, value: unknown): string {
  if (validator.kind === "union" && value !== undefined)
    return validator.members.map((member) => reason(member, value)).join("; ");
  const isOfFields = validator.kind === "object" || validator.kind === "record";
  if (isOfFields && typeof value === "object" && value !== null && !isPlain(value))
    return `Expected \`object\`, got ${literalText(value)}`;
  try {
    validate(validator, value, { throw: true });
    return "";
  } catch (error) {
    const { message } = error as Error;
    // The value in the place of a literal may be long, and nothing to show.
    return message.replace(/^Validator error:? /, "").replace(/ got `".*/s, " got something else");
  }
}

function invalid({ subject, sensitive = [] }: Named, issues: Issue[]): Failure {
  const shown = new Set(issues.map((issue) => withoutSensitive(issue, sensitive)));
  const text = [...shown].map((issue) => `  ${issue}`).join("\n");
  return new Misfit("invalidInput", `${subject} does not fit its schema:\n${text}`);
}

/** An issue, `input.card: …`, without its message if that may tell of what is sensitive. */
function withoutSensitive({ place, message }: Issue, sensitive: readonly string[]): string {
  const path = place.replace(/\.\d+(?=\.|$)/g, "");
  const hidden = sensitive.find((each) => isInside(path, each) || isInside(each, path));
  if (hidden === undefined) return `${place}: ${message}`;
  return `${isInside(path, hidden) ? hidden : place}: why is not shown, as it is sensitive`;
}

const isInside = (path: string, around: string): boolean => `${path}.`.startsWith(`${around}.`);
