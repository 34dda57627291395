import type { Commit, Deployment } from "@stepwise/testing";
import type { Doc } from "../../packages/workpool/src/component/_generated/dataModel.js";
import type { Happened, Work } from "./pool-app.js";

/** Holds that end within so long of each other are one. */
const SAME_MS = 250;

/** What an attempt has asked to be held is held: nothing of it begins until then. */
export class PoolHolds {
  readonly #permits = new Map<string, readonly string[]>();
  /** By label, when each attempt has begun. */
  readonly #begun = new Map<string, number[]>();
  /** By permit, until when it is held. */
  readonly #until = new Map<string, number>();

  constructor(
    readonly deployment: Deployment,
    readonly tell: (problem: string) => void,
    /** The work of an id. */
    readonly workOf: (id: string) => Work | undefined,
  ) {}

  see({ by, writes }: Commit): void {
    const [left, entered] = [new Set<string>(), new Set<string>()];
    for (const { table, old, next } of writes) {
      // What a table holds is for its schema, or for the app, to say.
      if (table.path === "workpool/works" && next !== undefined)
        this.#permits.set(String(next["_id"]), (next as unknown as Doc<"works">).permits ?? []);
      const { label = "", what, at = 0 } = (next ?? {}) as Partial<Happened>;
      if (table.path === "happened" && what === "begins")
        this.#begun.set(label, [...(this.#begun.get(label) ?? []), at]);
      if (table.path !== "workpool/slots" || old?.["work"] === next?.["work"]) continue;
      if (old?.["work"] !== undefined) left.add(String(old["work"]));
      if (next?.["work"] !== undefined) entered.add(String(next["work"]));
    }
    for (const work of left) this.#hold(work);
    const now = this.deployment.wall();
    for (const work of entered)
      for (const permit of this.#permits.get(work) ?? [])
        if (now < (this.#until.get(permit) ?? 0) - SAME_MS)
          this.tell(`${by} starts ${work}, and ${permit} is held`);
  }

  /** An attempt has ended; the first ones say when to come again. */
  #hold(id: string): void {
    const work = this.workOf(id);
    const begun = this.#begun.get(work?.label ?? "") ?? [];
    if (work?.held === undefined || begun.length === 0 || begun.length > work.held.times) return;
    const { limit, ms } = work.held;
    const permits = this.#permits.get(id) ?? [];
    const permit = permits.findLast((each) => each.split(/[:=]/)[0] === limit && !/=/.test(each));
    const until = begun.at(-1)! + work.ms + ms;
    if (permit !== undefined)
      this.#until.set(permit, Math.max(until, this.#until.get(permit) ?? 0));
  }
}
