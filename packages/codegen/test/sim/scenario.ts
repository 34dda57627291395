import { type ActionFault, type CallFault, CLASSES, seeded } from "@stepwise/testing";
import { generated } from "../differential/generator.js";

/**
 * What is done from outside. Which run, node or event it is done to is a number from 0 to 1, among
 * those that there are by then.
 */
export type Deed =
  | { readonly does: "start" }
  | { readonly does: "repair" }
  | { readonly does: "cancel" | "pause" | "resume" | "cleanup"; readonly run: number }
  | { readonly does: "restart"; readonly run: number; readonly from?: number }
  | { readonly does: "send"; readonly run: number; readonly event: number }
  | { readonly does: "limit"; readonly maxParallelism: number };

/** What befalls the deployment itself. */
export type Blow =
  | { readonly does: "crash"; readonly survives: boolean }
  | { readonly does: "restore" }
  | { readonly does: "jump"; readonly ms: number }
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
export interface Scenario {
  readonly seed: number;
  readonly class: keyof typeof CLASSES;
  /** A definition file. */
  readonly definition: string;
  /** The workflow in it that is started. */
  readonly top: string;
  readonly plan: readonly Entry[];
  /** How many of the newest commits a stale snapshot may lack. */
  readonly staleLag?: number;
  /** Of the pool. */
  readonly maxParallelism?: number;
}

/** @param draws where the definition's numbers come from; by default from the seed. */
export function scenarioOf(seed: number, of: Scenario["class"], draws?: () => number): Scenario {
  const { text, top } = draws === undefined ? generated(seed) : generated(seed, draws);
  const random = seeded(seed ^ 0x5eed);
  const isCalm = random() < 0.25;
  return {
    seed,
    class: of,
    definition: text,
    top,
    plan: isCalm ? [] : planOf(random),
    ...(isCalm ? {} : { maxParallelism: slotsOf(random()) }),
    ...(random() < 0.3 ? { staleLag: 1 + Math.floor(random() * 10) } : {}),
  };
}

/**
 * Few slots, so that works wait; or more than a deployment has places for, so that carriers run.
 */
function slotsOf(share: number): number {
  return share < 0.8 ? 1 + Math.floor(share * 5) : 7 + Math.floor((share - 0.8) * 50);
}

const JUMPS = [-3_600_000, -5_000, -200, 200, 5_000, 3_600_000];
const LATE = [5, 200, 2_000, 60_000, 600_000];

/** Of each kind that a scenario has at all, some. */
function planOf(random: () => number): Entry[] {
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
      () => ({ does: "send", run, event: random() }),
      () => ({ does: "restart", run, ...(random() < 0.6 ? { from: random() } : {}) }),
      () => ({ does: "cleanup", run }),
      () => ({ does: "limit", maxParallelism: upTo(4) }),
    ])();
  };
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
