import type { Commit, Deployment } from "@stepwise/testing";
import { limitOf, type Limits } from "@stepwise/workpool/core";
import type { Doc } from "../../packages/workpool/src/component/_generated/dataModel.js";
import type { Work } from "./pool-app.js";

/** What a work says of the limits that a scenario has. */
export interface WorkLimits {
  readonly tenant?: string;
  readonly exports?: true;
  readonly api?: true;
  /** Of keys, each with a rate that counts works. */
  readonly calls?: string;
  readonly tokens?: { readonly estimate: number; readonly spend?: string };
  readonly scarce?: true;
}

/** Those that do not change. */
const SAME = {
  api: { rate: { limit: 20, per: 1_000, burst: 10 } },
  calls: { perKey: 3, rate: { limit: 30, per: 60_000, burst: 3, count: "works" } },
  tokens: { rate: { limit: 1_000, per: 10_000 }, unit: "tokens" },
  scarce: { total: 1, maxWaiting: 2 },
} satisfies Limits;

/** How much each lets through at first. */
export const FIRST_LIMITS = {
  tenant: { perKey: 2, total: 4 },
  exports: { total: 2 },
  ...SAME,
} satisfies Limits;

/** Limits that a scenario begins with, or changes to. */
export function limitsOf(random: () => number): Limits {
  const upTo = (count: number) => 1 + Math.floor(random() * count);
  return {
    tenant: { perKey: upTo(3), total: upTo(6) },
    exports: { total: upTo(3) },
    ...SAME,
  };
}

/** What an operator says of a limit. */
export type LimitSteering = {
  readonly how: "override" | "pause" | "resume" | "reset";
  readonly name: keyof typeof FIRST_LIMITS;
  readonly options: { readonly key?: string; readonly until?: number } & Partial<Limits[string]>;
};

export function steeringOf(random: () => number): LimitSteering {
  const oneOf = <Each>(all: readonly Each[]): Each => all[Math.floor(random() * all.length)]!;
  const how = oneOf(["override", "override", "pause", "resume", "reset"] as const);
  const name = oneOf(["tenant", "tenant", "exports", "calls", "api"] as const);
  const isOfKey = "perKey" in FIRST_LIMITS[name] && random() < 0.5;
  const key = isOfKey ? { key: oneOf(["a", "b"]) } : {};
  const most = 1 + Math.floor(random() * 4);
  const rate = { rate: { limit: 5 * most, per: 10_000 } };
  const numbers = { tenant: isOfKey ? { perKey: most } : { perKey: most, total: 2 * most } };
  const ofAll = { ...numbers, exports: { total: most }, calls: rate, api: rate };
  return { how, name, options: how === "override" ? { ...key, ...ofAll[name] } : key };
}

/** What ends all that operators have said. */
export const UNSTEERED: readonly LimitSteering[] = Object.entries(FIRST_LIMITS).flatMap(
  ([name, limit]) =>
    ("perKey" in limit ? [{}, { key: "a" }, { key: "b" }] : [{}]).flatMap((options) =>
      (["resume", "reset"] as const).map((how) => {
        return { how, name: name as LimitSteering["name"], options };
      }),
    ),
);

/** What a work says of limits, and how it waits for them. */
export function limitsOfWork(random: () => number): Pick<Work, "limits" | "waitAtMost"> {
  const share = random();
  const upTo = (count: number) => Math.floor(random() * count);
  const tenant = random() < 0.6 ? { tenant: "abc"[upTo(3)]! } : {};
  const exports = random() < 0.4 ? { exports: true as const } : {};
  const api = share > 0.8 ? { api: true as const } : {};
  const waits = random() < 0.2 ? { waitAtMost: 1_000 + upTo(30_000) } : {};
  if (share < 0.3) return waits;
  const estimate = 50 + upTo(500);
  const more = [
    { calls: "ab"[upTo(2)]! },
    { tokens: { estimate, ...(random() < 0.7 ? { spend: "used.tokens" } : {}) } },
    { scarce: true as const },
    { scarce: true as const },
    {},
    {},
  ][upTo(6)];
  return { limits: { ...tenant, ...exports, ...api, ...more }, ...waits };
}

/** What an action does that is about limits: it holds one of its own, or uses some of a budget. */
export function usesOfLimits(
  random: () => number,
  limits: WorkLimits,
): Pick<Work, "held" | "uses"> {
  const names = Object.keys(limits);
  const limit = names[Math.floor(random() * names.length)];
  const isHeld = random() < 0.2 && limit !== undefined;
  const held = { times: 1 + Math.floor(random() * 2), ms: Math.floor(random() * 20_000) };
  return {
    ...(isHeld ? { held: { ...held, limit } } : {}),
    ...(limits.tokens?.spend === undefined ? {} : { uses: Math.floor(random() * 1_500) }),
  };
}

/** How a work goes among those that wait. */
export function orderOfWork(random: () => number): WorkOrder {
  const priority = random() < 0.4 ? { priority: Math.floor(random() * 60_000) } : {};
  const weight = random() < 0.5 ? { weight: 1 + Math.floor(random() * 3) } : {};
  const key = "xyz"[Math.floor(random() * 3)]!;
  return { ...priority, ...(random() < 0.6 ? { fairness: { key, ...weight } } : {}) };
}

export interface WorkOrder {
  readonly priority?: number;
  readonly fairness?: { readonly key: string; readonly weight?: number };
}

type Override = NonNullable<Doc<"gate">["overrides"]>[number];

/** Says whether it is a pause: it gives no numbers. */
export const isPause = ({ total, perKey, rate }: Override): boolean =>
  total === undefined && perKey === undefined && rate === undefined;

/**
 * The gate without the pauses that are over: by the clock of this process, none is. Other numbers
 * hold until they are removed.
 */
export function gateOf(deployment: Deployment, component: string): Doc<"gate"> | undefined {
  const [gate] = deployment.rows<Doc<"gate">>(component, "gate");
  const now = deployment.wall();
  const isOn = (each: Override) => !isPause(each) || (each.until ?? Infinity) > now;
  return gate && { ...gate, overrides: gate.overrides?.filter(isOn) };
}

/** The limit that a permit is of. */
export const nameOf = (permit: string): string => permit.split(/[:=]/)[0] ?? "";

/** Where works say what they need. */
export interface Place {
  readonly component: string;
  readonly works: string;
}

/** No commit starts a work beyond a limit, and permits are those of works in slots. */
export class PoolLimits {
  readonly #needs = new Map<string, readonly string[]>();
  /** By work, which of these count. */
  readonly #begun = new Map<string, readonly string[]>();
  readonly #running = new Map<string, number>();
  #held = 0;
  #permits = 0;

  constructor(
    readonly deployment: Deployment,
    readonly tell: (problem: string) => void,
    readonly place: Place = { component: "workpool", works: "works" },
  ) {}

  /** What there is now is not what it has seen. */
  forget(): void {
    const { component, works } = this.place;
    this.#running.clear();
    const all = this.deployment.rows<Doc<"works">>(component, works as "works");
    for (const { _id, permits = [] } of all) this.#needs.set(_id, permits);
    const slots = this.deployment.rows<Doc<"slots">>(component, "slots");
    const names = new Map(
      this.deployment.rows<Doc<"permits">>(component, "permits").map((one) => [one._id, one.name]),
    );
    for (const { work, permits = [] } of slots) {
      if (work === undefined) continue;
      this.#begun.set(
        work,
        permits.flatMap((held) => (typeof held === "string" ? (names.get(held) ?? []) : held.name)),
      );
      this.#count(work, 1);
    }
    this.#held = slots.reduce((sum, { permits = [] }) => sum + permits.length, 0);
    this.#permits = this.deployment.rows(component, "permits").length;
  }

  see({ by, writes }: Commit): void {
    const { component, works } = this.place;
    const [left, entered] = [new Set<string>(), new Set<string>()];
    for (const { table, old, next } of writes) {
      if (table.path === `${component}/${works}` && next !== undefined) {
        const { _id, permits = [] } = next as unknown as Doc<"works">;
        this.#needs.set(_id, permits);
      }
      if (table.path === `${component}/permits`)
        this.#permits += Number(next !== undefined) - Number(old !== undefined);
      if (table.path !== `${component}/slots`) continue;
      const [had, has] = [old, next] as unknown as (Doc<"slots"> | undefined)[];
      this.#held += (has?.permits?.length ?? 0) - (had?.permits?.length ?? 0);
      if (had?.work !== undefined) left.add(had.work);
      if (has?.work !== undefined) entered.add(has.work);
    }
    for (const work of left) this.#count(work, -1);
    // One whose slot is only written to goes on, also if its limit was lowered.
    const started = [...entered].filter((work) => !left.has(work));
    const gate = gateOf(this.deployment, component);
    for (const work of started) this.#begin(work, gate);
    for (const work of entered) this.#count(work, 1);
    for (const name of new Set(started.flatMap((work) => this.#begun.get(work) ?? [])))
      if (gate !== undefined && this.#running.get(name)! > limitOf(gate, name))
        this.tell(`${by} runs ${this.#running.get(name)} of ${name}`);
    if (this.#held !== this.#permits)
      this.tell(`${by}: works in slots hold ${this.#held} of ${this.#permits} permits`);
  }

  /** A limit that is added counts what begins from then on. */
  #begin(work: string, gate: Doc<"gate"> | undefined): void {
    const needs = this.#needs.get(work) ?? [];
    const counted = needs.filter((name) => gate !== undefined && limitOf(gate, name) !== Infinity);
    this.#begun.set(work, counted);
  }

  #count(work: string, change: number): void {
    for (const name of this.#begun.get(work) ?? [])
      this.#running.set(name, (this.#running.get(name) ?? 0) + change);
  }
}
