import type { WriteStream } from "node:tty";
import { expect, test } from "vitest";
import { ProgressLive } from "../src/cli/progress-live.js";
import { run, step, tree } from "./local-tree.js";

/** A terminal that obeys the two sequences the live tree uses: so many lines up, and clear from here. */
class Screen {
  readonly columns = 60;
  readonly rows = 10;
  lines: string[] = [];

  write(text: string): boolean {
    // oxlint-disable-next-line no-control-regex -- The sequences are what is looked for.
    for (const [, up, line] of text.matchAll(/\u001b\[(\d+)A\u001b\[0J|([^\n]*)\n/g)) {
      if (up !== undefined) this.lines.splice(this.lines.length - Number(up));
      else this.lines.push(line!);
    }
    return true;
  }
}

function live() {
  const screen = new Screen();
  return { screen, progress: new ProgressLive(screen as unknown as WriteStream, false) };
}

const seen = (state: string) => ({
  type: "progress" as const,
  tree: tree(run("top", state, { steps: [step("outline", state)] })),
  changes: [],
  seenAt: 1000,
});

test("the tree is redrawn in its place, and its last state stays", () => {
  const { screen, progress } = live();
  progress.tell(seen("running"));
  expect(screen.lines).toHaveLength(2);
  progress.tell(seen("completed"));
  progress.end();
  expect(screen.lines).toEqual(["✓ document  100 ms", "  ✓ outline  40 ms"]);
});

test("what functions print stays above the tree", () => {
  const { screen, progress } = live();
  progress.tell(seen("running"));
  progress.tell({ type: "log", text: "first\nsecond" });
  progress.tell(seen("completed"));
  progress.end();
  expect(screen.lines).toEqual(["first", "second", "✓ document  100 ms", "  ✓ outline  40 ms"]);
});

test("without a tree nothing is drawn", () => {
  const { screen, progress } = live();
  progress.tell({ type: "mounted", functionsDir: "/app/convex" });
  progress.end();
  expect(screen.lines).toEqual([]);
});
