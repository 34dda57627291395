import type { Value } from "convex/values";
import type { Collect } from "../component/validators.js";
import { durationMs, MOST_ITEMS } from "../rules.js";
import { checkStorable } from "../values.js";
import {
  inputOf,
  isSame,
  type KeptInput,
  looksCollected,
  MAX_DEPTH,
  parsedOf,
  PASS_AN_ID,
} from "./input.js";
import { keyMade } from "./keys.js";
import type { WorkflowReference } from "./reference.js";
import { sensitivePaths } from "./sensitive.js";

type Reference = Pick<WorkflowReference<never>, "name" | "definition">;

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
export function asWhole(workflow: Reference, kept: KeptInput): KeptInput {
  const { input, given, collected } = kept;
  if (!keepsAll(workflow))
    return { input, ...(given && { given }), ...(collected !== undefined && { collected }) };
  const items = (each: Value): Value => ({ items: [each] });
  checkStorable(items(input), {
    subject: `The input of workflow "${workflow.name}"`,
    root: "input",
    maxDepth: MAX_DEPTH,
    kind: "invalidInput",
    cannot: "cannot be collected",
    advice: PASS_AN_ID,
  });
  const whole = { input: items(input), collected: true };
  if (given === undefined) return whole;
  const { value } = given;
  return { ...whole, given: value === undefined ? {} : { value: items(value) } };
}

/** A kept input as the present schema takes it; undefined if it stays as it is. @throws if not. */
export function parsedAgain(workflow: Parsing, kept: KeptInput): KeptInput | undefined {
  const { input, given: { value: raw } = { value: input } } = kept;
  if (raw === undefined) return undefined;
  const again = keepsAll(workflow)
    ? againWithCollect(workflow, raw, kept.collected)
    : againWithout(workflow, raw, kept.collected);
  return isSame(again.input, input) ? undefined : again;
}
type Parsing = Pick<WorkflowReference<never>, "definition" | "parse">;

/** Its items are parsed. A run that was started before there was a `collect` has one. */
function againWithCollect(
  { parse }: Parsing,
  raw: Value,
  collected = looksCollected(raw),
): KeptInput {
  const each = (whole: unknown): Value => ({ items: itemsOf(whole).map((item) => parse(item)) });
  const first = collected ? each : (whole: unknown): Value => ({ items: [parse(whole)] });
  const { value: input, given } = parsedOf(first, raw, each);
  // The mark is of what is parsed next.
  return { input, ...(given && { given }), collected: given === undefined || collected };
}

/** A run may have collected its items before its workflow had no such `collect` any more. */
function againWithout({ parse }: Parsing, raw: Value, collected: boolean | undefined): KeptInput {
  const items = looksCollected(raw) ? raw.items : [];
  if (collected === false || items.length === 0) return inputOf({ parse }, raw);
  if (collected === undefined) {
    // Of an older run it is not known. It keeps what each version of its schema makes of it.
    const { value: input, given } = parsedOf((whole) => likelyParsed(parse, whole), raw);
    return { input, ...(given && { given }) };
  }
  if (items.length === 1) return inputOf({ parse }, items[0]);
  const { value: input, given } = parsedOf((whole) => itemsParsed(parse, itemsOf(whole)), raw);
  return { input, ...(given && { given }), collected };
}

const itemsOf = (whole: unknown): readonly unknown[] => (whole as { items: unknown[] }).items;

/** What it is most likely: a value of the schema that keeps its form, or else several of it. */
function likelyParsed(parse: (whole: unknown) => Value, whole: unknown): Value {
  if (!looksCollected(whole) || whole.items.length === 0) return parse(whole);
  try {
    const own = parse(whole);
    if (Object.hasOwn(Object(own), "items")) return own;
  } catch (error) {
    try {
      return itemsParsed(parse, whole.items);
    } catch {
      throw error;
    }
  }
  return itemsParsed(parse, whole.items);
}

function itemsParsed(parse: (whole: unknown) => Value, items: readonly unknown[]): Value {
  const [first, ...others] = items.map((each) => parse(each));
  return first !== undefined && others.length === 0 ? first : { items: [first!, ...others] };
}
