import type { WriteStream } from "node:tty";
import pc from "picocolors";
import type { RunEvent } from "../dev-server/index.js";
import { ProgressLines } from "./progress-lines.js";
import { ProgressLive } from "./progress-live.js";

/** Shows how a run goes on. */
export interface Progress {
  tell(event: RunEvent): void;
  /** Shows the last state, and writes no more. */
  end(): void;
}

/** A tree that is redrawn on a terminal that can do so, else a line per event; nothing at all where it is to be quiet. */
export function progressOn(stream: NodeJS.WriteStream, quiet: boolean): Progress {
  if (quiet) return { tell() {}, end() {} };
  if (isLive(stream)) return new ProgressLive(stream as WriteStream, usesColor(stream));
  return new ProgressLines((line) => stream.write(`${line}\n`));
}

function isLive(stream: NodeJS.WriteStream): boolean {
  return stream.isTTY === true && process.env["TERM"] !== "dumb" && !process.env["CI"];
}

export function usesColor(stream: NodeJS.WriteStream): boolean {
  return stream.isTTY === true && pc.isColorSupported && !process.env["NO_COLOR"];
}
