import type { WriteStream } from "node:tty";
import pc from "picocolors";
import type { RunEvent, RunTree } from "../dev-server/index.js";
import { Crowds, describeChanges } from "./progress-lines.js";
import { paintLine } from "./progress-text.js";
import { treeLines } from "./progress-tree.js";

/** Shows how a run goes on. */
export interface Progress {
  tell(event: RunEvent): void;
  /** Shows the last state, and writes no more. */
  end(): void;
}

/** A tree that is redrawn, if the terminal can do so, else a line per event; or nothing. */
export function progressOn(stream: NodeJS.WriteStream, quiet: boolean): Progress {
  if (quiet) return { tell() {}, end() {} };
  const isLive = stream.isTTY === true && process.env["TERM"] !== "dumb" && !process.env["CI"];
  if (isLive) return new ProgressLive(stream as WriteStream, usesColor(stream));
  return progressLines((line) => stream.write(`${line}\n`));
}

export function usesColor(stream: NodeJS.WriteStream): boolean {
  return stream.isTTY === true && pc.isColorSupported && !process.env["NO_COLOR"];
}

/** Progress as text for a file or a pipe: one line per event, nothing is ever redrawn. */
function progressLines(write: (line: string) => void): Progress {
  const crowds = new Crowds();
  return {
    tell(event) {
      if (event.type === "log") write(event.text);
      if (event.type === "started") write(`${event.workflow}: started, run ${event.runId}`);
      if (event.type === "progress") for (const line of describeChanges(event, crowds)) write(line);
    },
    end() {},
  };
}

// Captured at import: a run may replace them by a clock of its own.
const { setInterval, clearInterval } = globalThis;
const now = performance.now.bind(performance);

const FRAME_MS = 50;
const END_OF_LINE = "\u001b[K\n";
const ERASE_BELOW = "\u001b[J";

/** Progress on a terminal: the tree of the run, redrawn in its place. */
export class ProgressLive implements Progress {
  readonly #stream: WriteStream;
  readonly #color: boolean;
  readonly #timer: NodeJS.Timeout;
  #tree: RunTree | undefined;
  #drawn = 0;
  #drawnAt = 0;

  constructor(stream: WriteStream, color: boolean) {
    this.#stream = stream;
    this.#color = color;
    this.#timer = setInterval(() => this.#draw(), FRAME_MS);
    // The picture alone does not keep the process alive.
    this.#timer.unref();
  }

  tell(event: RunEvent): void {
    if (event.type === "progress") {
      this.#tree = event.tree;
      // Busy functions keep the timer waiting.
      if (now() - this.#drawnAt >= FRAME_MS) this.#draw();
    }
    if (event.type === "log") {
      this.#erase();
      this.#stream.write(`${event.text}\n`);
      this.#draw();
    }
  }

  /** Draws the last state, which stays. */
  end(): void {
    clearInterval(this.#timer);
    this.#draw();
    this.#drawn = 0;
  }

  #draw(): void {
    if (this.#tree === undefined) return;
    // One line is left for the cursor: a picture that scrolls cannot be redrawn.
    const lines = treeLines(this.#tree, Date.now(), (this.#stream.rows ?? 24) - 1);
    const width = this.#stream.columns ?? 80;
    const text = lines.map((line) => `${paintLine(line, width, this.#color)}${END_OF_LINE}`);
    // Over the last picture, line by line: a picture that is erased first flickers.
    this.#stream.write(`${this.#home()}${text.join("")}${ERASE_BELOW}`);
    this.#drawn = lines.length;
    this.#drawnAt = now();
  }

  #erase(): void {
    this.#stream.write(`${this.#home()}${this.#drawn > 0 ? ERASE_BELOW : ""}`);
    this.#drawn = 0;
  }

  /** Takes the cursor to the first line of the last picture. */
  #home(): string {
    return this.#drawn > 0 ? `\u001b[${this.#drawn}A` : "";
  }
}
