import { spawnSync } from "node:child_process";

/** A process of Node, from its start to its end. */
export interface Command {
  readonly args: readonly string[];
  readonly cwd: string;
  /** Brings its folder into the state it is to find. */
  readonly before?: () => void;
}

/**
 * The shortest of several runs of each command, in ms. One after the other in turn, so that what
 * else the machine does at some moment meets all of them: the ratio of two is then of use where the
 * times are not.
 */
export function shortest<Name extends string>(
  rounds: number,
  commands: Readonly<Record<Name, Command>>,
): Record<Name, number> {
  const names = Object.keys(commands) as Name[];
  const best = Object.fromEntries(names.map((name) => [name, Infinity])) as Record<Name, number>;
  for (let round = 0; round < rounds; round++)
    for (const name of names) best[name] = Math.min(best[name], timed(commands[name]));
  return best;
}

/** Ms that a process takes. */
function timed({ args, cwd, before }: Command): number {
  before?.();
  const started = performance.now();
  run(args, cwd);
  return performance.now() - started;
}

const tellMemory = `data:text/javascript,${encodeURIComponent(
  'process.on("exit", () => process.stderr.write(`\\npeak ${process.resourceUsage().maxRSS}\\n`));',
)}`;

/** The most memory that a process had at any moment, in MB. */
export function peakMegabytes({ args, cwd, before }: Command): number {
  before?.();
  const { stderr } = run(["--import", tellMemory, ...args], cwd);
  const [, kilobytes] = /^peak (\d+)$/m.exec(stderr) ?? [];
  return Number(kilobytes) / 1024;
}

/** @throws where the process fails */
function run(args: readonly string[], cwd: string): { stderr: string } {
  const { status, stdout, stderr } = spawnSync(process.execPath, args, { cwd, encoding: "utf8" });
  if (status !== 0) throw new Error(`node ${args.join(" ")} failed:\n${stdout}${stderr}`);
  return { stderr };
}
