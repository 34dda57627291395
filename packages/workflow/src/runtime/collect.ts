import type { Value } from "convex/values";
import type { Collect } from "../component/validators.js";
import { durationMs, MOST_ITEMS } from "../rules.js";
import { checkStorable } from "../values.js";
import { type inputOf, MAX_DEPTH, PASS_AN_ID } from "./input.js";
import { keyMade } from "./keys.js";
import type { WorkflowReference } from "./reference.js";
import { sensitivePaths } from "./sensitive.js";

type Reference = Pick<WorkflowReference<never>, "name" | "definition">;
type Input = ReturnType<typeof inputOf>;

/** How long a collect lasts at most, in times of its `quiet`. */
const TIMES_QUIET = 10;

const keepsAll = ({ definition }: Pick<Reference, "definition">): boolean =>
  definition.options.collect?.keep === "all";

/**
 * Returns how the start with this input is collected; undefined without a `collect` or a key.
 * @throws if the key is not valid, or reads a sensitive value.
 */
export function collectOf(workflow: Reference, input: unknown): Collect | undefined {
  const { collect, sensitive } = workflow.definition.options;
  if (collect === undefined) return undefined;
  const paths = itemPaths(workflow, sensitivePaths({ sensitive }));
  const key = keyMade(workflow, { option: "collect", key: collect.key, sensitive: paths }, input);
  if (key === undefined) return undefined;
  const { keep } = collect;
  const quietMs = durationMs(collect.quiet);
  const atMostMs =
    collect.atMost === undefined ? TIMES_QUIET * quietMs : durationMs(collect.atMost);
  return { key, quietMs, atMostMs, size: sizeOf(collect), keep };
}

/** Returns how many starts a run has at most. */
export const sizeOf = ({ keep, size }: { keep: string; size?: number }): number | undefined =>
  size ?? (keep === "all" ? MOST_ITEMS : undefined);

/** The paths in one item: `input.items.card` is its `input.card`. */
export const itemPaths = (of: Pick<Reference, "definition">, paths: readonly string[]) =>
  keepsAll(of) ? paths.map((path) => path.replace(/^input\.items(?=\.|$)/, "input")) : paths;

/**
 * The input of a run that has this one item, or starts without a key.
 * @throws if it is too large.
 */
export function asWhole(workflow: Reference, { input, given }: Input): Input {
  if (!keepsAll(workflow)) return { input, ...(given && { given }) };
  const items = (each: Value): Value => ({ items: [each] });
  checkStorable(items(input), {
    subject: `The input of workflow "${workflow.name}"`,
    root: "input",
    maxDepth: MAX_DEPTH,
    kind: "invalidInput",
    cannot: "cannot be collected",
    advice: PASS_AN_ID,
  });
  if (given === undefined) return { input: items(input) };
  const { value } = given;
  return { input: items(input), given: value === undefined ? {} : { value: items(value) } };
}

/** Parses the whole input of a run, as {@link WorkflowReference.parse} does that of a start. */
export function parserOf(
  workflow: Pick<WorkflowReference<never>, "definition" | "parse">,
): (whole: unknown) => Value {
  const { parse } = workflow;
  if (!keepsAll(workflow)) return (whole) => withoutCollect(parse, whole);
  return (whole) => {
    const { items }: { items?: unknown } = Object(whole);
    // A run that was started before its workflow had a `collect`.
    return { items: Array.isArray(items) ? items.map((each) => parse(each)) : [parse(whole)] };
  };
}

/** A run may have collected its items before its workflow had no such `collect` any more. */
function withoutCollect(parse: (whole: unknown) => Value, whole: unknown): Value {
  const { items, ...rest }: { items?: unknown } = Object(whole);
  if (!Array.isArray(items) || items.length === 0 || Object.keys(rest).length > 0)
    return parse(whole);
  try {
    const own = parse(whole);
    if (Object.hasOwn(Object(own), "items")) return own;
  } catch (error) {
    try {
      return itemsParsed(parse, items);
    } catch {
      throw error;
    }
  }
  return itemsParsed(parse, items);
}

function itemsParsed(parse: (whole: unknown) => Value, items: readonly unknown[]): Value {
  const [first, ...others] = items.map((each) => parse(each));
  return first !== undefined && others.length === 0 ? first : { items: [first!, ...others] };
}
