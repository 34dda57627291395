import pc from "picocolors";

/** Where a command runs and prints. */
export interface Terminal {
  readonly cwd: string;
  readonly color: boolean;
  readonly stdout: { write(text: string): unknown };
  readonly stderr: { write(text: string): unknown };
  /** Aborted when the user wants to stop what is going on; by default that ends the process. */
  readonly interrupted?: AbortSignal;
  /** What the process ends with. */
  exitCode: number;
}

export function printTo({ stdout, stderr }: Terminal): {
  out(text: string): void;
  err(text: string): void;
} {
  return {
    out: (text) => void stdout.write(`${text}\n`),
    err: (text) => void stderr.write(`${text}\n`),
  };
}

/** The one that this process was started in. */
export const processTerminal = (): Terminal => ({
  cwd: process.cwd(),
  color: pc.isColorSupported,
  stdout: process.stdout,
  stderr: process.stderr,
  exitCode: 0,
});
