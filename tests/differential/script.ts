/**
 * What is done from outside. Which run, node or event it is done to is a number from 0 to 1, among
 * those that there are by then.
 */
export type Deed =
  | {
      readonly does: "start";
      readonly which: number;
      readonly refuses: boolean;
      readonly runAfter?: number;
    }
  | { readonly does: "send"; readonly run: number; readonly event: number }
  | { readonly does: "pause" | "resume" | "cancel"; readonly run: number }
  | { readonly does: "restart"; readonly run: number; readonly from?: number }
  | { readonly does: "cleanup"; readonly run: number }
  | { readonly does: "repair" }
  | {
      readonly does: "lose";
      readonly what: "one" | "actions" | "all";
      readonly which: number;
      readonly gone: boolean;
    }
  | { readonly does: "fail"; readonly times: number }
  | { readonly does: "limit"; readonly maxParallelism: number };

/** In the place of a number: the run that was chosen last. */
export const SAME = -1;

/** What follows, and needs no more to be said of it than what comes before. */
const FOLLOWING: Readonly<Record<Deed["does"], readonly Deed["does"][]>> = {
  start: [],
  send: ["send"],
  pause: ["resume", "cancel", "restart", "resume"],
  resume: ["pause", "resume"],
  cancel: ["restart", "pause", "cancel", "resume"],
  restart: ["pause", "cancel", "restart"],
  cleanup: ["restart", "cancel"],
  repair: [],
  lose: [],
  fail: [],
  limit: [],
};

/** A deed, and after how many timers from the one before it. */
export type Turn = Deed & {
  readonly after: number;
  /** Sooner, if an action runs. */
  readonly whileActing?: boolean;
};

/**
 * @param harm how much is to go wrong: nothing; or scheduled functions are lost, and what is to be
 * written down fails.
 */
export function scriptOf(random: () => number, harm: boolean): Turn[] {
  const upTo = (count: number) => Math.floor(random() * count);
  const after = () => (random() < 0.3 ? 0 : random() < 0.8 ? upTo(5) : upTo(25));
  const start = (): Deed => ({
    does: "start",
    which: random(),
    refuses: random() < 0.1,
    ...(random() < 0.15 ? { runAfter: upTo(100_000) } : {}),
  });
  const deeds: (() => Deed)[] = [
    start,
    () => ({ does: "send", run: random(), event: random() }),
    () => ({ does: "send", run: random(), event: random() }),
    () => ({ does: "pause", run: random() }),
    () => ({ does: "resume", run: random() }),
    () => ({ does: "cancel", run: random() }),
    () => ({ does: "restart", run: random(), ...(random() < 0.6 ? { from: random() } : {}) }),
    () => ({ does: "repair" }),
    ...(random() < 0.3 ? [() => ({ does: "cleanup", run: random() }) as const] : []),
    () => ({ does: "limit", maxParallelism: upTo(4) }),
  ];
  const harms: (() => Deed)[] = [
    () => ({
      does: "lose",
      what: (["one", "one", "actions", "all"] as const)[upTo(4)]!,
      which: random(),
      gone: random() < 0.5,
    }),
    () => ({ does: "fail", times: 1 + upTo(6) }),
  ];
  const all = harm ? [...deeds, ...harms, ...harms] : deeds;
  const script: Turn[] = [
    { does: "limit", maxParallelism: 1 + upTo(3), after: 0 },
    { ...start(), after: 0 },
  ];
  for (let left = 2 + upTo(14); left > 0; left--) {
    const deed = all[upTo(all.length)]!();
    script.push({
      ...deed,
      ...(random() < 0.4 ? { after: 1 + upTo(25), whileActing: true } : { after: after() }),
    });
    // Soon after that the same once more, or what goes well with it, to the same run.
    const following = random() < 0.15 ? [deed.does] : FOLLOWING[deed.does];
    if (!("run" in deed) || random() < 0.3) continue;
    for (const does of following)
      if (random() < 0.7) script.push({ ...deed, does, run: SAME, after: after() } as Turn);
  }
  return script;
}
