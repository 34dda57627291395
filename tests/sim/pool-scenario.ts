import { seeded } from "@stepwise/testing";
import type { Limits } from "@stepwise/workpool";
import type { Work } from "./pool-app.js";
import {
  limitsOf,
  type LimitSteering,
  limitsOfWork,
  orderOfWork,
  steeringOf,
  usesOfLimits,
} from "./pool-limits.js";
import { WIDE_SHARE, WIDE_STEP, wideOf } from "./pool-wide.js";
import { type Blow, type Entry, faultsOf, type Scenario, throttleOf } from "./scenario.js";

/** What is done from outside to a pool of its own. Which work: a number from 0 to 1. */
export type PoolDeed =
  | { readonly does: "enqueue"; readonly works: readonly Work[] }
  | { readonly does: "cancel work"; readonly which: number }
  | { readonly does: "cancel all"; readonly limit: number }
  | { readonly does: "limit"; readonly maxParallelism: number; readonly limits?: Limits }
  | ({ readonly does: "steer limit" } & LimitSteering)
  | { readonly does: "repair" }
  | { readonly does: "look" };

export type PoolEntry =
  | Exclude<Entry, { on: "event" }>
  | ({ readonly on: "event"; readonly nth: number } & (PoolDeed | Blow));

/** What holds all the time. */
export type Conditions = Pick<Scenario, "staleLag" | "throttle" | "fullOfTen">;
export interface PoolScenario extends Conditions, Pick<Scenario, "seed" | "class"> {
  readonly profile: "pool";
  readonly plan: readonly PoolEntry[];
  readonly maxParallelism: number;
}

/** Only what is told is known to have been used. */
function toldOf(made: Work): Work {
  const { callback: _, ...told } = made;
  return made.uses === undefined || made.callback === "enqueues" ? made : told;
}

export function poolScenarioOf(seed: number, of: Scenario["class"]): PoolScenario {
  const random = seeded(seed ^ 0x9001);
  const upTo = (count: number) => Math.floor(random() * count);
  const nth = (most: number) => Math.floor(Math.exp(random() * Math.log(most)));
  // Drawn apart, so that the rest of a seed's scenario is the same without them.
  const ofWide = seeded(seed ^ 0x3a1de);
  const isWide = ofWide() < WIDE_SHARE;
  const ofLimits = seeded(seed ^ 0x11317);
  // With either, no executor has works ahead.
  const hasLimits = ofLimits() < (isWide ? 0.2 : 0.6);
  const ofSteering = seeded(seed ^ 0x57ee2);
  const ofOrder = seeded(seed ^ 0x0bde2);
  const hasOrder = ofOrder() < (isWide ? 0.15 : 0.4);
  const ofThrottle = seeded(seed ^ 0x7077);
  let count = 0;
  const limited = (kind: Work["kind"]) => {
    const of = limitsOfWork(ofLimits);
    const does = kind === "action" && of.limits ? usesOfLimits(ofLimits, of.limits) : {};
    return { ...of, ...does };
  };
  const work = (): Work => {
    const kind = (["action", "action", "action", "mutation", "query"] as const)[upTo(5)]!;
    const made: Work = {
      label: `work${++count}`,
      kind,
      fails: random() < 0.6 ? 0 : 1 + upTo(3),
      maxAttempts: kind === "action" ? 1 + upTo(3) : 1,
      ms: random() < 0.3 ? 0 : upTo(20_000),
      ...(random() < 0.25 ? { runAfter: upTo(60_000) } : {}),
      ...(random() < 0.15 ? { more: 2 ** (9 + upTo(10)) } : {}),
      ...(hasLimits ? limited(kind) : {}),
      ...(hasOrder ? orderOfWork(ofOrder) : {}),
      ...(kind === "mutation" && random() < 0.3 ? { cancelsItself: true } : {}),
      ...(random() < 0.35
        ? { callback: (["throws", "greedy", "enqueues", "enqueues"] as const)[upTo(4)]! }
        : {}),
    };
    return toldOf(made);
  };
  const deed = (): PoolDeed => {
    const share = random();
    const batch = random() < 0.3 ? 10 + upTo(30) : 1 + upTo(4);
    if (share < 0.45) return { does: "enqueue", works: Array.from({ length: batch }, work) };
    if (share < 0.65) return { does: "cancel work", which: random() };
    if (share < 0.73) return { does: "cancel all", limit: 1 + upTo(8) };
    if (share < 0.83) {
      const changed = hasLimits && ofLimits() < 0.7 ? { limits: limitsOf(ofLimits) } : {};
      const maxParallelism = upTo(5) * (isWide ? WIDE_STEP : 1);
      return { does: "limit", maxParallelism, ...changed };
    }
    if (share < 0.88) return { does: "repair" };
    return { does: "look" };
  };
  const first = { does: "enqueue" as const, works: Array.from({ length: 1 + upTo(12) }, work) };
  const deeds = Array.from({ length: 4 + upTo(16) }, () => {
    return { on: "event" as const, nth: nth(600), ...deed() };
  });
  const faults = random() < 0.5 ? faultsOf(random) : [];
  const isSteered = hasLimits && ofSteering() < 0.5;
  const steers = Array.from({ length: isSteered ? 1 + Math.floor(ofSteering() * 5) : 0 }, () => {
    const nth = Math.floor(Math.exp(ofSteering() * Math.log(300)));
    return { on: "event", nth, does: "steer limit", ...steeringOf(ofSteering) } as const;
  });
  const wide = isWide
    ? wideOf(ofWide, (short) => {
        const limits = hasLimits && ofLimits() < 0.2 ? limited("action") : {};
        return toldOf({ ...short, ...limits, ...(hasOrder ? orderOfWork(ofOrder) : {}) });
      })
    : undefined;
  const plan: PoolEntry[] = [
    { on: "event", nth: 1, ...first },
    ...deeds,
    ...faults,
    ...steers,
    ...(wide?.deeds ?? []),
    ...(faults.length > 0 ? (wide?.faults ?? []) : []),
  ];
  const slots = random() < 0.7 ? 1 + upTo(4) : 7 + upTo(20);
  return {
    seed,
    class: of,
    profile: "pool",
    maxParallelism: wide?.maxParallelism ?? slots,
    plan: plan.toSorted((one, other) => one.nth - other.nth),
    ...(random() < 0.3 ? { staleLag: 1 + upTo(10) } : {}),
    ...(random() < 0.3 ? { fullOfTen: 1 + upTo(4) } : {}),
    ...throttleOf(ofThrottle),
  };
}
