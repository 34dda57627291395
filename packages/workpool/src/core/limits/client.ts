import type { FunctionReference } from "convex/server";
import type { MutationRunner, QueryRunner } from "../calls.js";
import type { Config } from "../config.js";
import { ANY, checkAllGiven, checkText, type Kinds, TEXT, WHOLE } from "../given.js";
import { literalText } from "../literal.js";
import type { Limits } from "./limits.js";
import type { POOL } from "./overrides.js";
import { checkRate, type Rate } from "./rate.js";

/* Types as they are written out: those of validators take the compiler longer. */

interface Numbers {
  total?: number;
  perKey?: number;
  rate?: Rate;
  unit?: string;
}

/** Who has said something of a limit, when, and until when it holds; ms since the epoch. */
interface SaidOf {
  by?: string;
  at: number;
  until?: number;
}

/** What is known of a limit or a key. The pool itself is called `maxParallelism`. */
export interface SeenLimit extends Numbers {
  name: string;
  key?: string;
  /** How many works of it run. */
  running: number;
  /** How many wait for it, and not for a slot; at least this many if `waitingIsAtLeast`. */
  waiting: number;
  waitingIsAtLeast: boolean;
  /** Since when the oldest of those has waited, in ms since the epoch. */
  oldest?: number;
  /** How many wait for it at most, or for each of its keys. */
  maxWaiting?: number;
  /** What the code asked for last. Empty if the limit is gone. */
  asked: Numbers;
  /** Where the numbers come from: the code, `config.update`, or an override. */
  origin: "code" | "config" | "override";
  /**
   * How many its rate lets start now; below zero if more was spent. With keys, only each key has
   * it.
   */
  left?: number;
  /** The numbers that an operator has set: of the key, or of all keys. */
  override?: Numbers & SaidOf;
  /** Nothing of it starts: the key is paused, or the limit. */
  paused?: SaidOf;
}

export interface ListedLimit extends SeenLimit {
  /** The keys whose works run or wait, and those that are overridden or paused. */
  keys: SeenLimit[];
}

// The arguments of a function are no interface: that has no index signature.
type Steered = {
  config?: Config;
  name: string;
  key?: string;
  total?: number;
  perKey?: number;
  rate?: Rate;
  until?: number;
  by?: string;
};
type OfWhich = { name: string; key?: string };
type Steering<Args extends Record<string, unknown>> = FunctionReference<
  "mutation",
  "internal",
  Args,
  null
>;
type Viewing<Args extends Record<string, unknown>, Result> = FunctionReference<
  "query",
  "internal",
  Args,
  Result
>;

/** What a component exports as `limits`. */
export interface LimitFunctions {
  override: Steering<Steered>;
  pause: Steering<Steered>;
  resume: Steering<OfWhich & Pick<Steered, "config">>;
  reset: Steering<OfWhich & Pick<Steered, "config">>;
  get: Viewing<OfWhich, SeenLimit | null>;
  list: Viewing<Record<string, never>, ListedLimit[]>;
}

/** Who changes a limit, and until when that holds. */
export interface Said<Until = Date | number> {
  /** When it ends by itself: a date, or ms since the epoch. Default: never. */
  until?: Until | undefined;
  /** Who says so, for whoever looks at it: up to 256 characters. */
  by?: string | undefined;
}

export type OverrideOptions<Until = Date | number> = Said<Until> &
  (
    | { key?: undefined; total?: number; perKey?: number; rate?: Rate }
    | {
        /** One key of the limit. Default: the limit, with all of its keys. */
        key: string;
        total?: undefined;
        perKey: number;
        rate?: Rate;
      }
    | { key: string; total?: undefined; perKey?: number; rate: Rate }
  );

type Overridable = "total" | "perKey" | "rate";

/** Refuses numbers that a limit does not have, and a key if it has none. */
type Fitting<Defined extends Limits, Name> = Name extends keyof Defined
  ? {
      [Field in Exclude<Overridable, keyof Defined[Name]>]?: undefined;
    } & ("perKey" extends keyof Defined[Name] ? unknown : { key?: undefined })
  : Name extends typeof POOL
    ? { perKey?: undefined; rate?: undefined; key?: undefined }
    : unknown;

export type PauseOptions<Until = Date | number> = Said<Until> & {
  /** One key of the limit. Default: the limit, with all of its keys. */
  key?: string;
};

interface OfKey {
  key?: string;
}

/** The names of limits, and `maxParallelism` for the whole pool. */
export type SteeredName<Defined extends Limits> = (keyof Defined & string) | typeof POOL;

/**
 * Changes limits while the app runs, and shows them. Your changes stay through deploys and starts,
 * whatever numbers the code has.
 */
export class LimitControls<
  Name extends string = string,
  Until = Date | number,
  Defined extends Limits = Limits,
> {
  constructor(
    private readonly functions: LimitFunctions,
    private readonly config: Config,
    private readonly timeOf: (until: Until) => number,
  ) {}

  /**
   * Puts other numbers in force for a limit, or for one of its keys, until {@link reset}. Works
   * that wait begin if they now have room, and running works go on. It replaces an earlier
   * override.
   * @param name a limit, or `"maxParallelism"` for the whole pool.
   * @throws if there is no such limit, it has no such number, or there are more than 100 overrides.
   */
  async override<Of extends Name>(
    ctx: MutationRunner,
    name: Of,
    options: OverrideOptions<Until> & Fitting<Defined, Of>,
  ): Promise<void> {
    await ctx.runMutation(
      this.functions.override,
      this.argsOf("Overriding", name, options, NUMBERS),
    );
  }

  /**
   * Starts no work of a limit, or of one of its keys, until {@link resume}. Running works go on,
   * and overrides stay.
   * @param name as for {@link override}. @throws as {@link override} does.
   */
  async pause(ctx: MutationRunner, name: Name, options: PauseOptions<Until> = {}): Promise<void> {
    await ctx.runMutation(this.functions.pause, this.argsOf("Pausing", name, options));
  }

  /**
   * Ends a pause of the limit, or of the key alone. Without one, nothing happens.
   * @throws if there is no such limit, and none of that name is overridden or paused.
   */
  async resume(ctx: MutationRunner, name: Name, options: OfKey = {}): Promise<void> {
    const which = whichOf("Resuming", name, options);
    await ctx.runMutation(this.functions.resume, { ...which, config: this.config });
  }

  /**
   * Ends an override of the limit, or of the key alone: the code's numbers hold again.
   * @throws as {@link resume} does.
   */
  async reset(ctx: MutationRunner, name: Name, options: OfKey = {}): Promise<void> {
    const which = whichOf("Resetting", name, options);
    await ctx.runMutation(this.functions.reset, { ...which, config: this.config });
  }

  /**
   * Returns how many run and wait, which numbers apply, and who set them. It reads up to 100 of
   * those that wait. In a mutation it would conflict with each start.
   * @returns null for a limit that the pool does not know, or not yet.
   * @throws if a key is given, and the limit takes none.
   */
  async get(ctx: QueryRunner, name: Name, options: OfKey = {}): Promise<SeenLimit | null> {
    return await ctx.runQuery(this.functions.get, whichOf("Getting", name, options));
  }

  /**
   * Returns the same for all limits, and for their keys that run, wait, are overridden or are
   * paused.
   */
  async list(ctx: QueryRunner): Promise<ListedLimit[]> {
    return await ctx.runQuery(this.functions.list, {});
  }

  // In JavaScript an override may have no options.
  private argsOf(
    doing: string,
    name: string,
    said: OverrideOptions<Until> | PauseOptions<Until> = {},
    numbers: Kinds = {},
  ): Steered {
    const which = whichOf(doing, name, said, { ...numbers, by: TEXT, until: ANY });
    if ("rate" in said && said.rate !== undefined) checkRate(name, said.rate);
    const until = said.until === undefined ? undefined : this.timeOf(said.until);
    return { ...said, ...which, until, config: this.config };
  }
}

const NUMBERS: Kinds = { total: WHOLE, perKey: WHOLE, rate: ANY };

/** Returns which limit, or key of it, is meant. @throws if an option is not what it must be. */
function whichOf(doing: string, name: string, options: OfKey, others: Kinds = {}): OfWhich {
  checkText(`${doing} a limit`, "its name", name);
  checkAllGiven(`${doing} the limit "${name}"`, options, { key: TEXT, ...others });
  const { key } = options;
  return { name, key };
}

/** A time in ms since the epoch. @throws if it is neither a date nor such a time. */
export function timeOf(time: Date | number): number {
  const ms: unknown = time instanceof Date ? time.getTime() : time;
  if (typeof ms === "number" && !Number.isNaN(ms)) return ms;
  throw new Error(`until is ${literalText(ms)}: give a Date, or ms since the epoch`);
}
