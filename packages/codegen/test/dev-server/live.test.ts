import type { WriteStream } from "node:tty";
import { expect, test } from "vitest";
import { ProgressLive } from "../../src/cli/progress.js";
import { run, step, tree } from "./tree.js";

// oxlint-disable-next-line no-control-regex -- Control sequences are what a terminal is told with.
const SEQUENCES = /\u001b\[(\d+)A|\u001b\[0(J)|\n|[^\u001b\n]+/g;

/** A terminal that obeys what the live tree uses: up by lines, and clear from here on. */
class Screen {
  readonly #lines: string[] = [""];
  #row = 0;
  #column = 0;

  constructor(
    readonly columns = 60,
    readonly rows = 10,
  ) {}

  /** What stands on it, but for the empty line of the cursor. */
  get lines(): string[] {
    return this.#lines.slice(0, -1);
  }

  cork(): void {}
  uncork(): void {}

  write(text: string): boolean {
    for (const [all, up, clear] of text.matchAll(SEQUENCES)) {
      const line = this.#lines[this.#row]!;
      if (up !== undefined) this.#row -= Number(up);
      else if (clear !== undefined) {
        this.#lines.splice(this.#row + 1);
        this.#lines[this.#row] = line.slice(0, this.#column);
      } else if (all === "\n") {
        this.#row++;
        this.#column = 0;
        if (this.#row === this.#lines.length) this.#lines.push("");
      } else {
        this.#lines[this.#row] =
          line.slice(0, this.#column) + all + line.slice(this.#column + all.length);
        this.#column += all.length;
      }
    }
    return true;
  }
}

function live(screen = new Screen()) {
  return { screen, progress: new ProgressLive(screen as unknown as WriteStream, false) };
}

const seen = (state: "running" | "completed") => ({
  type: "progress" as const,
  tree: tree(run("top", state, { steps: [step("outline", state)] })),
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

test("a terminal that does not know its size gets a usual one", () => {
  const { screen, progress } = live(new Screen(0, 0));
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
  progress.tell({ type: "started", runId: "top", workflow: "document" });
  progress.end();
  expect(screen.lines).toEqual([]);
});
