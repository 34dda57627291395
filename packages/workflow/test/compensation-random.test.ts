import { expect, test } from "vitest";
import { seeded } from "../../workpool/test/seeded.js";
import { internal } from "./convex/_generated/api.js";
import { useTestApp } from "./harness.js";

const use = useTestApp();

interface Maple {
  name: string;
  before: number;
  after: number;
  undoing: number;
  iterations: number;
  tolerant: boolean;
  fails: "no" | "before" | "after";
  kids: Maple[];
}

function mapleOf(random: () => number, name: string, levels: number): Maple {
  const upTo = (most: number) => Math.floor(random() * most);
  const kids = levels === 0 ? 0 : upTo(6);
  return {
    name,
    before: upTo(2) * upTo(20_000),
    after: upTo(20_000),
    undoing: upTo(2) * upTo(9_000),
    iterations: 1 + upTo(2),
    tolerant: random() < 0.4,
    fails: random() < 0.85 ? "no" : random() < 0.5 ? "before" : "after",
    kids: Array.from({ length: kids }, (_, n) => mapleOf(random, `${name}.${n}`, levels - 1)),
  };
}

/** Cancels or pauses at a moment that nobody foresaw: the run, or one below it. */
async function meddle(random: () => number, id: string): Promise<void> {
  const { t } = use.app;
  await use.app.advance(Math.floor(random() * 15_000));
  const going = (await use.app.tree(id)).filter(({ endedAt }) => endedAt === undefined);
  const one = going[Math.floor(random() * going.length)]?.runId ?? id;
  const what = random();
  if (what < 0.3) await t.mutation(internal.runs.cancel, { runId: id });
  else if (what < 0.6) await t.mutation(internal.runs.cancel, { runId: one });
  else if (what < 0.8) {
    const isPaused = await t.mutation(internal.manager.pause, { runId: one });
    await use.app.advance(Math.floor(random() * 9_000));
    if (isPaused && random() < 0.7) await t.mutation(internal.manager.resume, { runId: one });
    else await t.mutation(internal.runs.cancel, { runId: one });
  }
}

test.each(Array.from({ length: 12 }, (_, seed) => seed))(
  "[S92] [S93] [S95] [S101] whatever happens when: what a run that fails has made is undone once, the latest first, and then it has ended (%s)",
  { tags: ["large"] },
  async (seed) => {
    const random = seeded(seed);
    const id = await use.app.t.mutation(internal.manager.start, {
      name: "maple",
      input: mapleOf(random, "maple", 2),
      context: "at the end",
    });
    for (let times = Math.floor(random() * 5); times >= 0; times--) await meddle(random, id);
    await use.app.drive();

    const log = await use.app.log();
    const begins = (begin: string) =>
      log.filter((line) => line.startsWith(begin)).map((line) => line.slice(begin.length));
    const [made, undone] = [begins("make "), begins("undo ")];
    expect(new Set(undone).size).toBe(undone.length);
    expect(log.length).toBe(made.length + undone.length + 1);
    expect(log.at(-1)).toContain("at the end");

    const runs = await use.app.tree(id);
    const isUndone = new Map<string | undefined, boolean>();
    /** What was made by each run that has failed, and by those below it that were complete. */
    const madeFor = new Map<string, string[]>();
    const undoers = new Map<string | undefined, string>();
    const names = new Map<string | undefined, string>();
    for (const { runId, parentRunId, index, state, endedAt } of runs) {
      expect(endedAt).toBeDefined();
      const above = names.get(parentRunId);
      const name = above === undefined ? "maple" : `${above}.${index}`;
      names.set(runId, name);
      isUndone.set(runId, state !== "completed" || isUndone.get(parentRunId) === true);
      const own = made.filter((one) => one === name || one.startsWith(`${name}#`));
      const undoer = state === "completed" ? undoers.get(parentRunId) : runId;
      if (undoer !== undefined) {
        undoers.set(runId, undoer);
        madeFor.set(undoer, [...(madeFor.get(undoer) ?? []), ...own]);
      }
      expect(undone.filter((one) => own.includes(one))).toEqual(
        isUndone.get(runId) ? own.toReversed() : [],
      );
      // What its children made is undone before what it made first.
      const below = undone.findLastIndex((one) => one.startsWith(`${name}.`));
      if (isUndone.get(runId) && own.length > 0)
        expect(undone.indexOf(name)).toBeGreaterThan(below);
    }
    for (const some of madeFor.values()) {
      const inOrder = made.filter((one) => some.includes(one));
      expect(undone.filter((one) => some.includes(one))).toEqual(inOrder.toReversed());
    }
    if (isUndone.get(id)) expect(undone.toSorted()).toEqual(made.toSorted());
    await use.app.expectNothingLeft();
  },
);
