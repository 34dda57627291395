import { NonRetryableError, RetryAfter } from "@stepwise/workflow";
import {
  internalActionGeneric,
  internalMutationGeneric,
  internalQueryGeneric,
  makeFunctionReference,
} from "convex/server";
import { ConvexError, v } from "convex/values";

/*
 * What the handlers of random workflows do: a file of the app that is compiled. All of it follows
 * from what a handler is given, so that an interpreter which calls the same handlers must come to
 * the same end.
 */

/** How a handler behaves, written into the definition. */
export interface Plan {
  /**
   * How it fails. `unfit`: what it gives is no Convex value. `some`: it throws in a third of the
   * runs. `later`, `past`: it says when it is to be tried again. Default: it does not.
   */
  readonly fails?: "throws" | "convex" | "final" | "unfit" | "some" | "later" | "past";
  /** Up to which attempt it fails. Default: at every one. */
  readonly until?: number;
  /** How many ms an action takes. Default: a time that hardly any other action takes. */
  readonly ms?: number;
  readonly gives?: "nothing" | "object" | "number";
  /** So many attempts, before any other, ask that a limit be held for so many ms. */
  readonly holds?: { readonly limit: string; readonly times: number; readonly ms: number };
  /** How many characters more, where it gives a text. */
  readonly more?: number;
}

/** What a handler was given of its scope; `input` always. */
export interface Seen {
  readonly input: Input;
  readonly [name: string]: unknown;
}

/**
 * The input of every workflow: which run it is, as a path from the top, and how much deeper runs
 * may go.
 */
export interface Input {
  readonly at: string;
  readonly n: number;
}

/** Of several inputs that were collected, the first stands for all. */
const whoIs = (input: Input | { readonly items: readonly Input[] }): Input =>
  "items" in input ? input.items[0]! : input;

/** As much of `info` as is used. */
export interface Told {
  readonly attempt: number;
  /** Which step record it is for. */
  readonly idempotencyKey: string;
  readonly signal?: AbortSignal;
  readonly isCanceled?: () => Promise<boolean>;
}

/** A line of the log. */
export interface Line {
  readonly text: string;
  readonly what: "begins" | "ends" | "changes";
  /** The idempotency key of its step record, and which attempt wrote it. */
  readonly key: string;
  readonly attempt: number;
  /** The limit that it then asks to be held, and until when at least. */
  readonly holds?: { readonly limit: string; readonly until: number };
  /** What it has used of a budget whose `spend` says so; absent if it gives nothing to say it by. */
  readonly uses?: number;
  /** What it saw, by name. */
  readonly saw: Readonly<Record<string, string>>;
}

interface Logging {
  runMutation(reference: typeof log, line: Line): Promise<unknown>;
}
interface Writing {
  readonly db: { insert(table: "log", line: Line): unknown };
}

const log = makeFunctionReference<"mutation">("runs:log");

/** An action: says that it begins, takes its time, says so, and then gives something or fails. */
export async function act(
  ctx: Logging,
  told: Told,
  site: string,
  seen: Seen,
  plan: Plan = {},
): Promise<unknown> {
  const attempt = `${site}#${told.attempt}`;
  await ctx.runMutation(log, line("begins", attempt, told, seen));
  await pause(plan.ms ?? lasts(attempt, seen), told.signal);
  const late = (await told.isCanceled?.()) === true ? " too late" : "";
  const { limit = "", times = 0, ms = 0 } = plan.holds ?? {};
  const isHeld = told.attempt <= times;
  const holds = isHeld ? { holds: { limit, until: Date.now() + ms } } : {};
  const uses = isHeld ? {} : usesOf(() => outcome(told.attempt, site, seen, plan));
  await ctx.runMutation(log, { ...line("ends", attempt + late, told, seen), ...holds, ...uses });
  if (isHeld) throw new RetryAfter(ms, { holds: limit });
  return outcome(told.attempt, site, seen, plan);
}

function usesOf(gives: () => unknown): Pick<Line, "uses"> {
  try {
    const output = gives();
    const uses = typeof output === "function" ? NaN : spent(output);
    return Number.isNaN(uses) ? {} : { uses };
  } catch {
    return {};
  }
}

/** A mutation: writes what it saw, also where it fails then. */
export async function change(
  ctx: Writing,
  told: Told,
  site: string,
  seen: Seen,
  plan: Plan = {},
): Promise<unknown> {
  await ctx.db.insert("log", line("changes", site, told, seen));
  return outcome(1, site, seen, plan);
}

/** A query. */
export function look(site: string, seen: Seen, plan: Plan = {}): unknown {
  return outcome(1, site, seen, plan);
}

/** What a function is called with that is not written in the definition itself. */
export interface Call {
  readonly site: string;
  readonly seen: Seen;
  readonly plan: Plan;
  readonly key: string;
  readonly attempt: number;
}

/** The functions that references lead to, by their names. */
export const referenced = {
  "behaviour:acting": (ctx: Logging, { site, seen, plan, key, attempt }: Call) =>
    act(ctx, { idempotencyKey: key, attempt }, site, seen, plan),
  "behaviour:changing": (ctx: Writing, { site, seen, plan, key, attempt }: Call) =>
    change(ctx, { idempotencyKey: key, attempt }, site, seen, plan),
  "behaviour:reading": (_ctx: unknown, { site, seen, plan }: Call) => look(site, seen, plan),
};
const args = {
  site: v.string(),
  seen: v.any(),
  plan: v.any(),
  key: v.string(),
  attempt: v.number(),
};
export const acting = internalActionGeneric({
  args,
  handler: (ctx, call) => referenced["behaviour:acting"](ctx, call),
});
export const changing = internalMutationGeneric({
  args,
  handler: (ctx, call) => referenced["behaviour:changing"](ctx as unknown as Writing, call),
});
export const reading = internalQueryGeneric({
  args,
  handler: (ctx, call) => referenced["behaviour:reading"](ctx, call),
});

/** `recover`: what to go on with. */
export function mend(site: string, seen: Seen, plan: Plan = {}): unknown {
  return outcome(1, site, seen, plan);
}

/** The `when` of a `retry`. */
export function again(error: { kind: string; attempt: number }, how: Again): boolean {
  if (how === "throws") throw new Error("It does not know");
  if (how === "convex") throw new ConvexError({ asked: error.attempt });
  if (how === "final") throw new NonRetryableError("It must not", { asked: error.attempt });
  if (how === "odd") return "yes" as unknown as boolean;
  return how === "thrown" ? error.kind === "thrown" : how === "always" || error.attempt < 2;
}
export type Again = "always" | "first" | "thrown" | "throws" | "convex" | "final" | "odd";

/** The `match` of an event: two in three payloads are meant for a node. */
export function meant(site: string, payload: string, seen: Seen, isStrict = false): boolean {
  const number = numberOf(`${site} ${payload}`, seen);
  if (isStrict && number % 5 === 0) throw new Error(`${site} cannot say`);
  return number % 3 !== 0;
}

/** The `concurrency` of a parent: from 1 to so many. */
export function atOnce(site: string, seen: Seen, most: number): number {
  return 1 + (numberOf(site, seen) % most);
}

/** The `spend` of a budget: what an action has used, by its output; at times that cannot be said. */
export function spent(output: unknown): number {
  const number = hash(canonical(output ?? null)) % 1_500;
  if (number % 10 === 0) throw new Error("It cannot say");
  return number % 10 === 1 ? NaN : number;
}

/** One of the keys. */
export function pick(site: string, seen: Seen, keys: readonly string[]): string {
  return keys[numberOf(site, seen) % keys.length] ?? "";
}

/** A number of ms that hardly any other handler gives: from one second to an hour. */
export function lasts(site: string, seen: Seen): number {
  return 1_000 + (numberOf(site, seen) % 3_600_000);
}

/**
 * The input of a child, with a path of its own. Where it `fits` not, the workflow's schema refuses
 * it.
 */
export function below(seen: Seen, site: string, key: string | number, fits = true, more = 0) {
  const { input, loop } = seen as { input: Input; loop?: { iteration: number } };
  const iteration = loop === undefined ? "" : `~${loop.iteration}`;
  const at = `${whoIs(input).at}/${site}${itemOf(seen)}${iteration}.${key}`;
  const n = fits ? Math.max(0, whoIs(input).n - 1) : -1;
  return { at, n, ...(more === 0 ? {} : { more: "x".repeat(more) }) };
}

/** What an `.each` goes through: no two of its items are the same, nor those of another one. */
export const items = (site: string, seen: Seen, count: number): string[] =>
  Array.from({ length: count }, (_, index) => digest([site, seen, index]));

/** The same as a record. */
export const keyed = (site: string, seen: Seen, count: number): Record<string, string> =>
  Object.fromEntries(items(site, seen, count).map((item, index) => [`k${index}`, item]));

/** Which item of an `.each` it is for, where it is for one. */
function itemOf({ each }: Seen): string {
  return each === undefined ? "" : `^${digest(each)}`;
}

/** What `children` are reduced to. */
export function fold(site: string, before: unknown, child: unknown, key: string | number): string {
  return digest([site, before, child, key]);
}

export function digest(value: unknown): string {
  return hash(canonical(value)).toString(36);
}

function outcome(attempt: number, site: string, seen: Seen, plan: Plan): unknown {
  if (plan.fails !== undefined && attempt <= (plan.until ?? Infinity)) {
    const message = `boom at ${site}#${attempt}`;
    if (plan.fails === "convex") throw new ConvexError({ site, attempt });
    if (plan.fails === "final") throw new NonRetryableError(message, { site });
    if (plan.fails === "unfit") return () => site;
    const data = { site, attempt };
    if (plan.fails === "past") throw new RetryAfter(new Date(0), message, data);
    if (plan.fails === "later")
      throw new RetryAfter(lasts(`${site}#${attempt} again`, seen), message, data);
    if (plan.fails === "throws" || hash(`${whoIs(seen.input).at} ${site}`) % 3 === 0)
      throw new Error(message);
  }
  const text = `${site}:${digest(seen)}${"x".repeat(plan.more ?? 0)}`;
  if (plan.gives === "nothing") return undefined;
  if (plan.gives === "number") return numberOf(site, seen);
  return plan.gives === "object" ? { text, big: 1n, none: undefined, list: [[null]] } : text;
}

function line(what: Line["what"], site: string, told: Told, seen: Seen): Line {
  const { input, ...rest } = seen;
  // A branch or an item goes on beside others of the same run.
  const [branch = ""] = /^.*>/.exec(site) ?? [];
  return {
    text: `${Date.now()} ${whoIs(input).at}${branch}${itemOf(seen)} ${site} ${what}, saw ${canonical(rest)}`,
    what,
    key: told.idempotencyKey,
    attempt: told.attempt,
    saw: Object.fromEntries(Object.entries(rest).map(([name, value]) => [name, canonical(value)])),
  };
}

async function pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
  if (ms <= 0) return;
  await new Promise<void>((resolve, reject) => {
    const timer = setTimeout(resolve, ms);
    signal?.addEventListener("abort", () => {
      clearTimeout(timer);
      reject(new Error("It was aborted"));
    });
  });
}

function numberOf(site: string, seen: Seen): number {
  return hash(`${site} ${canonical(seen)}`);
}

/** A longer text is logged by its length and hash: a line of the log is a document. */
const LONG = 1_000;

/**
 * A value as text: the same for the same value, whatever the order of its fields; of an error only
 * where and what.
 */
export function canonical(value: unknown): string {
  if (typeof value === "string" && value.length > LONG) return `${value.length}:${hash(value)}`;
  if (typeof value === "bigint") return `${value}n`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value) ?? "nothing";
  if (Array.isArray(value)) return `[${value.map(canonical).join(",")}]`;
  if ("kind" in value && "node" in value) return `${String(value.kind)} at ${String(value.node)}`;
  const fields = Object.entries(value).filter(([, field]) => field !== undefined);
  return `{${fields
    .map(([name, field]) => `${name}:${canonical(field)}`)
    .sort()
    .join(",")}}`;
}

// Inside a function of a simulated deployment each look at a global variable costs.
const { imul } = Math;

/** FNV-1a, and then mixed. */
function hash(text: string): number {
  let mixed = 0x811c9dc5;
  for (let at = 0; at < text.length; at += 1) mixed = imul(mixed ^ text.charCodeAt(at), 0x01000193);
  mixed = imul(mixed ^ (mixed >>> 16), 0x7feb352d);
  mixed = imul(mixed ^ (mixed >>> 15), 0x846ca68b);
  return (mixed ^ (mixed >>> 16)) >>> 0;
}

/** What the compiler does not see through. */
export const through = <Value>(value: Value): Value => value;

/** Keys of cases that are no identifiers. */
export const Keys = { left: "turn.left", number: "200", none: "?" } as const;
