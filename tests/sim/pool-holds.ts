import type { Commit, Deployment } from "@stepwise/testing";
import type { Doc } from "../../packages/workpool/src/component/_generated/dataModel.js";
import type { Happened, Work } from "./pool-app.js";
import { nameOf, type Place } from "./pool-limits.js";

/** Holds that end within so long of each other are one. */
const SAME_MS = 250;

/** What an attempt that has ended asks to be held, and until when at least. */
interface Hold {
  readonly limit: string;
  readonly until: number;
}
/** The work or step, and in which commit its attempt ends. */
export type HeldBy = (id: string) => Hold | undefined;

/** What an attempt has asked to be held is held: nothing of it begins until then. */
export class PoolHolds {
  readonly #permits = new Map<string, readonly string[]>();
  /** By permit, until when it is held. */
  readonly #until = new Map<string, number>();

  constructor(
    readonly deployment: Deployment,
    readonly tell: (problem: string) => void,
    readonly place: Place,
    readonly heldBy: HeldBy,
  ) {}

  see({ by, writes }: Commit): void {
    const { component, works } = this.place;
    const [left, entered] = [new Set<string>(), new Set<string>()];
    for (const { table, old, next } of writes) {
      // What a table holds is for its schema to say.
      if (table.path === `${component}/${works}` && next !== undefined)
        this.#permits.set(String(next["_id"]), (next as unknown as Doc<"works">).permits ?? []);
      if (table.path === `${component}/gate` && by.endsWith("steerLimit"))
        this.#resume(old as unknown as Doc<"gate">, next as unknown as Doc<"gate">);
      if (table.path !== `${component}/slots` || old?.["work"] === next?.["work"]) continue;
      if (old?.["work"] !== undefined) left.add(String(old["work"]));
      if (next?.["work"] !== undefined) entered.add(String(next["work"]));
    }
    const [{ limits = {} } = {}] = this.deployment.rows<Doc<"gate">>(component, "gate");
    for (const work of left) this.#hold(work, limits);
    const now = this.deployment.wall();
    for (const work of entered)
      for (const permit of this.#permits.get(work) ?? [])
        if (nameOf(permit) in limits && now < (this.#until.get(permit) ?? 0) - SAME_MS)
          this.tell(`${by} starts ${work}, and ${permit} is held`);
  }

  /** An attempt has ended. What is no limit, or none of its own, is not held. */
  #hold(work: string, limits: object): void {
    const { limit = "", until = 0 } = this.heldBy(work) ?? {};
    const permits = this.#permits.get(work) ?? [];
    const permit = permits.findLast((each) => nameOf(each) === limit && !/=/.test(each));
    if (permit !== undefined && limit in limits)
      this.#until.set(permit, Math.max(until, this.#until.get(permit) ?? 0));
  }

  /** An operator ends a hold as he ends a pause. */
  #resume(old: Doc<"gate"> | undefined, next: Doc<"gate"> | undefined): void {
    const held = new Set((next?.overrides ?? []).filter(isHold).map(permitOf));
    for (const each of (old?.overrides ?? []).filter(isHold))
      if (!held.has(permitOf(each))) this.#until.delete(permitOf(each));
  }
}

/** As much as is looked at of what the gate has. */
interface Override {
  readonly name: string;
  readonly key?: string;
  readonly isHold?: boolean;
}
const isHold = (each: Override): boolean => each.isHold === true;
const permitOf = ({ name, key }: Override): string => (key === undefined ? name : `${name}:${key}`);

/** What works of a pool ask, as their attempts begin. */
export class HeldWorks {
  /** By label, when each attempt has begun. */
  readonly #begun = new Map<string, number[]>();

  /** @param workOf the work of an id. */
  constructor(readonly workOf: (id: string) => Work | undefined) {}

  see({ writes }: Commit): void {
    for (const { table, next } of writes) {
      // What the app has written itself.
      const { label = "", what, at = 0 } = (next ?? {}) as Partial<Happened>;
      if (table.path === "happened" && what === "begins")
        this.#begun.set(label, [...(this.#begun.get(label) ?? []), at]);
    }
  }

  /** The first attempts say when to come again. */
  of(id: string): Hold | undefined {
    const work = this.workOf(id);
    const begun = this.#begun.get(work?.label ?? "") ?? [];
    if (work?.held === undefined || begun.length === 0 || begun.length > work.held.times)
      return undefined;
    return { limit: work.held.limit, until: begun.at(-1)! + work.ms + work.held.ms };
  }
}
