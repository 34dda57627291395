import { colorsIf, isColorSupported } from "../diagnostics/colors.js";
import { printable, printableJson } from "../diagnostics/printable.js";

export interface Terminal {
  readonly cwd: string;
  readonly color: boolean;
  readonly stdout: { write(text: string): unknown };
  readonly stderr: { write(text: string): unknown };
  /** Aborted when the user wants to stop what is going on. Default: that ends the process. */
  readonly interrupted?: AbortSignal;
  exitCode: number;
}

/**
 * Returns what prints to a terminal. All that is printed goes through it, and is made safe by it.
 */
export const printTo = ({ stdout, stderr, color }: Terminal) => ({
  out: (text: string) => void stdout.write(`${printable(text, color)}\n`),
  err: (text: string) => void stderr.write(`${printable(text, color)}\n`),
  asJson: (value: unknown) => void stdout.write(`${printableJson(value)}\n`),
  colors: colorsIf(color),
});

export const processTerminal = (): Terminal => ({
  cwd: process.cwd(),
  color: isColorSupported(),
  stdout: process.stdout,
  stderr: process.stderr,
  exitCode: 0,
});

/** Aborted when the user wants to stop, for a command that has something to end first. */
export function interruptOf({ interrupted }: Terminal): AbortSignal {
  if (interrupted !== undefined) return interrupted;
  const interrupt = new AbortController();
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const)
    process.once(signal, () => interrupt.abort());
  return interrupt.signal;
}
