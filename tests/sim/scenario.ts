import { type ActionFault, type CallFault, CLASSES, seeded } from "@stepwise/testing";
import { generated, LIMITS, STEADY } from "../differential/generator.js";
import type { Limits } from "@stepwise/workpool";
import { FAMILY, hasControls, topOf, versions } from "./deploys.js";

/**
 * What is done from outside. Which run, node or event it is done to is a number from 0 to 1, among
 * those that there are by then.
 */
export type Deed =
  | ({ readonly does: "start" } & Start)
  | { readonly does: "repair" }
  | { readonly does: "look" }
  | {
      readonly does: "cancel" | "pause" | "resume" | "cleanup";
      readonly run: number;
      /** To a child. Default: to a run of the top level. */
      readonly child?: boolean;
    }
  | {
      readonly does: "restart";
      readonly run: number;
      readonly from?: number;
      /** Of a loop from which it goes on, if it has one. */
      readonly iteration?: number;
      readonly input?: boolean;
    }
  /** Many at once. */
  | { readonly does: "storm"; readonly deeds: readonly Deed[] }
  | {
      readonly does: "send";
      readonly run: number;
      readonly event: number;
      readonly child?: boolean;
    }
  | Clash
  | { readonly does: "limit"; readonly maxParallelism: number; readonly limits?: Limits }
  | LimitSteering
  | ToMany
  | { readonly does: "stop bulk"; readonly which: number };

/** What an operator says of a limit. */
export interface LimitSteering {
  readonly does: "steer limit";
  readonly how: "override" | "pause" | "resume" | "reset";
  readonly name: keyof typeof LIMITS;
  readonly key?: string;
  readonly numbers?: Limits[string];
  /** After so many ms it ends by itself. */
  readonly forMs?: number;
}

/** A bulk. */
export interface ToMany {
  readonly does: "bulk";
  readonly to: "cancel" | "pause" | "resume" | "restart" | "cleanup";
  /** To those of the workflow that is started. Default: to all. */
  readonly ofTop?: boolean;
  readonly state?: "running" | "failed" | "completed";
  readonly from?: number;
  readonly atMost?: number;
  readonly perSecond?: number;
}

/**
 * Several things are done to one run, at once or in turn: mostly to one that waits. `aroundMs`: how
 * long after the moment at which its wait is over, or before it.
 */
export interface Clash {
  readonly does: "clash";
  readonly run: number;
  readonly event: number;
  readonly child?: boolean;
  readonly aroundMs?: number;
  readonly inTurn?: boolean;
  readonly all: readonly ("send" | "cancel" | "pause" | "resume" | "restart" | "cleanup")[];
}

/** How a run is started, if not at once, without a key, for good. */
export interface Start {
  readonly key?: string;
  readonly reuse?: "never" | "ended" | "failed";
  readonly runAfter?: number;
  /** So many ms from when it is started. */
  readonly runAt?: number;
  readonly expires?: boolean;
  /** Its `onComplete` throws, or uses up its transaction. */
  readonly refuses?: boolean | "greedy";
}

/** What befalls the deployment itself. */
export type Blow =
  | { readonly does: "crash"; readonly survives: boolean }
  | { readonly does: "restore" }
  /** What comes back is older than the rest: the documents, or the scheduled functions. */
  | { readonly does: "backup" }
  | { readonly does: "bring back"; readonly older: "documents" | "functions" }
  | { readonly does: "jump"; readonly ms: number }
  /** The other version of the app. */
  | { readonly does: "deploy" }
  /** By hand, to a scheduled function that has not begun. */
  | { readonly does: "cancel function" | "delete function"; readonly which: number };

/**
 * One thing that happens: at the so many-th event, or to the so many-th action, call by an action,
 * or mutation.
 */
export type Entry = { readonly nth: number } & (
  | ({ readonly on: "event" } & (Deed | Blow))
  | { readonly on: "action"; readonly fault: ActionFault }
  | { readonly on: "call"; readonly fault: CallFault }
  | { readonly on: "mutation" }
);

/** All that a simulation depends on. */
export const PROFILES = ["plain", "wide", "steer", "restore", "deploy", "limits", "pool"] as const;
export type Profile = (typeof PROFILES)[number];

export interface Scenario {
  readonly seed: number;
  readonly profile?: Profile;
  readonly class: keyof typeof CLASSES;
  /** A definition file; of a deploy, that of the family of edits. */
  readonly definition: string;
  /** Which edit is deployed. */
  readonly edit?: number;
  /** The workflow in it that is started. */
  readonly top: string;
  readonly plan: readonly Entry[];
  /** How many of the newest commits a stale snapshot may lack. */
  readonly staleLag?: number;
  /** Of the pool. */
  readonly maxParallelism?: number;
  /** Of a second's writes, and of mutations at once: fewer than the class has. */
  readonly throttle?: { readonly bytesPerSecond: number; readonly mutationPermits: number };
  /** How many of ten mutations begin with more than half of their transaction used up. */
  readonly fullOfTen?: number;
}

/**
 * Up to which share of seeds each profile comes, in this order. A profile may come twice: so the
 * other seeds keep theirs when a share is changed.
 */
const SHARES: readonly (readonly [Profile, number])[] = [
  ["plain", 0.29],
  ["wide", 0.34],
  ["limits", 0.44],
  ["wide", 0.49],
  ["steer", 0.69],
  ["restore", 0.74],
  ["deploy", 0.82],
  ["pool", 1],
];

export function profileOf(seed: number): Profile {
  const share = (seed * 0.618_034) % 1;
  return SHARES.find(([, upTo]) => share < upTo)?.[0] ?? "plain";
}

/** @param draws where the definition's numbers come from; by default from the seed. */
export function scenarioOf(
  seed: number,
  of: Scenario["class"],
  profile: Profile = "plain",
  draws?: () => number,
): Scenario {
  const random = seeded(seed ^ 0x5eed);
  if (profile === "deploy") return deployOf(seed, of, random);
  const { text, top } = generated(seed, draws, profile === "wide", profile === "limits");
  const isCalm = random() < 0.25 && profile !== "restore" && profile !== "limits";
  const plain = {
    seed,
    profile,
    class: of,
    definition: text,
    top,
    plan: isCalm ? [] : profile === "restore" ? restoresOf(random) : planOf(random, profile),
    ...(isCalm ? {} : { maxParallelism: slotsOf(random()) }),
    ...(random() < 0.3 ? { staleLag: 1 + Math.floor(random() * 10) } : {}),
  };
  if (isCalm || profile === "plain") return plain;
  return {
    ...plain,
    ...throttleOf(random),
    ...(random() < 0.4 ? { fullOfTen: 1 + Math.floor(random() * 4) } : {}),
  };
}

/** Some scenarios have fewer writes a second, and fewer mutations at once, than their class. */
export function throttleOf(random: () => number): Pick<Scenario, "throttle"> {
  if (random() >= 0.15) return {};
  return { throttle: { bytesPerSecond: 2 ** (12 + 8 * random()), mutationPermits: 3 } };
}

/** An edit is deployed while a run goes on, mostly with nothing else that goes wrong. */
function deployOf(seed: number, of: Scenario["class"], random: () => number): Scenario {
  const edit = Math.floor(random() * FAMILY);
  const nth = () => 1 + Math.floor(random() * 300);
  const kind = random();
  const steers = hasControls(edit) ? "limits" : "steer";
  const more = kind < 0.5 ? [] : planOf(random, kind < 0.75 ? steers : "plain");
  const does = (deed: Deed | Blow): Entry => ({ on: "event", nth: nth(), ...deed });
  const plan = [
    does({ does: "deploy" }),
    ...(random() < 0.3 ? [does({ does: "deploy" })] : []),
    ...Array.from({ length: Math.floor(random() * 3) }, () => does({ does: "start" })),
    ...Array.from({ length: Math.floor(random() * 4) }, () =>
      does({ does: "send", run: random(), event: random() }),
    ),
    ...more,
  ];
  return {
    seed,
    profile: "deploy",
    class: of,
    definition: versions.before,
    edit,
    top: topOf(edit),
    plan: plan.toSorted((one, other) => one.nth - other.nth),
    maxParallelism: slotsOf(random()),
  };
}

/**
 * Few slots, so that works wait; or more than a deployment has places for, so that carriers run.
 */
function slotsOf(share: number): number {
  return share < 0.8 ? 1 + Math.floor(share * 5) : 7 + Math.floor((share - 0.8) * 50);
}

function restarting(random: () => number): Deed {
  return {
    does: "restart",
    run: random(),
    ...(random() < 0.6 ? { from: random() } : {}),
    ...(random() < 0.3 ? { iteration: 1 + Math.floor(random() * 4) } : {}),
    ...(random() < 0.4 ? { input: true } : {}),
  };
}

const CLASHES: readonly Clash["all"][] = [
  ["send", "cancel"],
  ["pause", "send", "resume"],
  ["pause", "send"],
  ["send", "pause"],
  ["send", "send"],
  ["pause", "resume"],
  ["pause", "cancel"],
  ["resume", "cancel"],
  ["restart", "restart"],
  ["restart", "cancel"],
  ["cancel", "restart", "cleanup"],
  ["send"],
  ["pause"],
  ["cancel"],
  ["restart"],
];

function clashing(random: () => number): Deed {
  const all = CLASHES[Math.floor(random() * CLASHES.length)]!;
  const isAround = all.length === 1 || random() < 0.3;
  return {
    does: "clash",
    all,
    run: random(),
    event: random(),
    ...(random() < 0.5 ? { child: true } : {}),
    ...(random() < 0.5 ? { inTurn: true } : {}),
    ...(isAround ? { aroundMs: Math.floor(random() * 80) - 40 } : {}),
  };
}

const CHANGED = ["tenant", "exports"] as const;
const STEADY_NAMES = ["api", "calls", "tokens", "scarce"] as const;

/** Other numbers of a limit. */
function numbersOf(name: keyof typeof LIMITS, upTo: (count: number) => number): Limits[string] {
  if (name === "tenant") return { perKey: 1 + upTo(3), total: 1 + upTo(4) };
  if (name === "exports" || name === "scarce") return { total: 1 + upTo(4) };
  const limit = name === "tokens" ? 200 + upTo(3_000) : 1 + upTo(8);
  return { rate: { limit, per: name === "api" ? 60_000 : 300_000 } };
}

/** What is done to limits, to many runs, and starts of runs with the same keys. */
function sharing(random: () => number): Deed {
  const upTo = (count: number) => Math.floor(random() * count);
  const oneOf = <Each>(all: readonly Each[]): Each => all[upTo(all.length)]!;
  const share = random();
  if (share < 0.4)
    return {
      does: "start",
      ...(random() < 0.2 ? { runAfter: upTo(100_000) } : {}),
      ...(random() < 0.2 ? { key: `key${upTo(2)}`, reuse: "ended" as const } : {}),
    };
  if (share < 0.55) {
    const tenant = { perKey: 1 + upTo(3), total: 1 + upTo(6) };
    const limits = { tenant, exports: { total: 1 + upTo(3) }, ...STEADY };
    return { does: "limit", maxParallelism: upTo(6), limits: random() < 0.8 ? limits : {} };
  }
  if (share < 0.75) {
    const how = oneOf(["override", "pause", "resume", "reset"] as const);
    const name = oneOf<LimitSteering["name"]>([...CHANGED, ...CHANGED, ...STEADY_NAMES]);
    const numbers = numbersOf(name, upTo);
    const isKeyed = "perKey" in LIMITS[name];
    const key = isKeyed && random() < 0.5 ? { key: oneOf(["a", "b"]) } : {};
    // Not drawn, so that the rest of a seed's scenario is the same without it.
    const ends = (how === "override" || how === "pause") && (share * 1_000) % 1 < 0.4;
    const forMs = ends ? { forMs: 1_000 + Math.floor(((share * 1_000_000) % 1) * 600_000) } : {};
    return {
      does: "steer limit",
      how,
      name,
      ...(how === "override" ? { numbers } : {}),
      // A key has no total.
      ...(how === "override" && numbers?.total !== undefined ? {} : key),
      ...forMs,
    };
  }
  if (share > 0.97) return { does: "stop bulk", which: random() };
  return {
    does: "bulk",
    to: oneOf(["cancel", "pause", "resume", "resume", "restart", "restart", "cleanup"] as const),
    ...(random() < 0.6 ? { ofTop: true, ...(random() < 0.5 ? { from: random() } : {}) } : {}),
    ...(random() < 0.5 ? { state: oneOf(["running", "failed", "completed"] as const) } : {}),
    ...(random() < 0.2 ? { atMost: 1 + upTo(3) } : {}),
    ...(random() < 0.2 ? { perSecond: 0.2 + random() } : {}),
  };
}

/** The event of what is done when all runs have ended: none is that late. */
export const ENCORE = 100_000;

/** A deed of any kind. */
function steering(random: () => number): Deed {
  const upTo = (count: number) => Math.floor(random() * count);
  const run = random();
  const child = random() < 0.4;
  const start = (): Deed => ({
    does: "start",
    ...(random() < 0.6
      ? { key: `key${upTo(2)}`, reuse: (["never", "ended", "failed"] as const)[upTo(3)]! }
      : {}),
    ...(random() < 0.3 ? { [random() < 0.5 ? "runAt" : "runAfter"]: upTo(100_000) } : {}),
    ...(random() < 0.3 ? { expires: true } : {}),
    ...(random() < 0.2 ? { refuses: random() < 0.5 ? true : ("greedy" as const) } : {}),
  });
  const steer = (does: "cancel" | "pause" | "resume" | "cleanup"): Deed =>
    child ? { does, run, child } : { does, run };
  const send = (): Deed => ({ does: "send", run, event: random(), ...(child ? { child } : {}) });
  const deeds = [
    start,
    start,
    () => steer("cancel"),
    () => steer("pause"),
    () => steer("pause"),
    () => steer("resume"),
    () => steer("resume"),
    () => steer("cleanup"),
    send,
    send,
    () => clashing(random),
    () => clashing(random),
    () => restarting(random),
    () => restarting(random),
    () => ({ does: "look" }) as const,
    () => ({ does: "look" }) as const,
    () => ({ does: "repair" }) as const,
    () => ({ does: "limit", maxParallelism: upTo(5) }) as const,
  ];
  return deeds[upTo(deeds.length)]!();
}

/** A backup, and later part of it comes back. */
function restoresOf(random: () => number): Entry[] {
  const nth = (most: number) => Math.floor(Math.exp(random() * Math.log(most)));
  const backup = nth(200);
  const older = random() < 0.5 ? "documents" : "functions";
  const back = backup + 1 + nth(200);
  const starts = Array.from({ length: Math.floor(random() * 3) }, () => nth(back));
  return [
    ...starts.map((at) => ({ on: "event", nth: at, does: "start" }) as const),
    { on: "event" as const, nth: backup, does: "backup" as const },
    { on: "event" as const, nth: back, does: "bring back" as const, older },
  ].toSorted((one, other) => one.nth - other.nth) as Entry[];
}

const JUMPS = [-3_600_000, -5_000, -200, 200, 5_000, 3_600_000];
const LATE = [5, 200, 2_000, 60_000, 600_000];

const BLOWS = /^(crash|restore|jump|cancel function|delete function)$/;

/** What goes wrong, without anything that is done. */
export function faultsOf(random: () => number) {
  return planOf(random, "plain").filter(
    (entry): entry is Exclude<Entry, { on: "event" }> | ({ on: "event"; nth: number } & Blow) =>
      entry.on !== "event" || BLOWS.test(entry.does),
  );
}

/** Of each kind that a scenario has at all, some. */
function planOf(random: () => number, profile: Profile): Entry[] {
  const upTo = (count: number) => Math.floor(random() * count);
  const oneOf = <Each>(all: readonly Each[]): Each => all[upTo(all.length)]!;
  // As often among the first as among later ones.
  const nth = (most: number) => Math.floor(Math.exp(random() * Math.log(most)));
  const late = () => oneOf(LATE) * (0.5 + random());
  const deed = (): Deed => {
    const run = random();
    return oneOf<() => Deed>([
      () => ({ does: "start" }),
      () => ({ does: "repair" }),
      () => ({ does: "cancel", run }),
      () => ({ does: "pause", run }),
      () => ({ does: "resume", run }),
      () => ({ does: "resume", run }),
      () => ({ does: "send", run, event: random() }),
      () => ({ does: "send", run, event: random(), child: true }),
      () => clashing(random),
      () => ({ does: "restart", run, ...(random() < 0.6 ? { from: random() } : {}) }),
      () => ({ does: "cleanup", run }),
      () => ({ does: "limit", maxParallelism: upTo(4) }),
    ])();
  };
  if (profile === "steer" || profile === "wide" || profile === "limits") {
    const isLimited = profile === "limits";
    const steers = () => (isLimited && random() < 0.6 ? sharing(random) : steering(random));
    const storm = (): Deed => ({ does: "storm", deeds: Array.from({ length: 64 }, steers) });
    const at = () => ({ on: "event" as const, nth: nth(profile === "wide" ? 2_000 : 600) });
    const many = Array.from({ length: 3 + upTo(20) }, () => ({ ...at(), ...steers() }));
    const storms = random() < 0.15 ? [{ ...at(), ...storm() }] : [];
    // With faults too, or with deeds alone: then nothing may fail.
    const faults = random() < 0.4 ? planOf(random, "plain") : [];
    // While runs go on, most of these are refused.
    const restarts = Array.from({ length: upTo(3) }, () => {
      return { on: "event" as const, nth: ENCORE, ...restarting(random) };
    });
    return [...many, ...storms, ...faults, ...restarts].toSorted(
      (one, other) => one.nth - other.nth,
    );
  }
  const kinds: readonly (readonly [share: number, most: number, make: () => Entry])[] = [
    [0.7, 12, () => ({ on: "event", nth: nth(400), ...deed() })],
    [0.3, 3, () => ({ on: "event", nth: nth(400), does: "crash", survives: random() < 0.5 })],
    [0.1, 2, () => ({ on: "event", nth: nth(400), does: "restore" })],
    [0.1, 2, () => ({ on: "event", nth: nth(400), does: "jump", ms: oneOf(JUMPS) })],
    [
      0.25,
      4,
      () => ({
        on: "event",
        nth: nth(400),
        does: oneOf(["cancel function", "delete function"] as const),
        which: random(),
      }),
    ],
    [
      0.4,
      4,
      () => ({
        on: "action",
        nth: nth(30),
        fault: oneOf([
          "dies at start",
          "dies before report",
          "dies after report",
          "hangs",
        ] as const),
      }),
    ],
    [
      0.4,
      5,
      () => ({
        on: "call",
        nth: nth(30),
        fault: oneOf<() => CallFault>([
          () => ({ lost: "request" }),
          () => ({ lost: "answer" }),
          () => ({ lateMs: late() }),
          () => ({ againMs: late() }),
          () => ({ lateMs: late(), lost: "answer" }),
        ])(),
      }),
    ],
    [0.2, 3, () => ({ on: "mutation", nth: nth(100) })],
  ];
  return kinds
    .flatMap(([share, most, make]) =>
      random() < share ? Array.from({ length: 1 + upTo(most) }, make) : [],
    )
    .toSorted((one, other) => one.nth - other.nth);
}
