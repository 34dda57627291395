import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { plural } from "./counts.js";
import { displayPath, functionsFolder, UsageError } from "./functions-folder.js";
import { generateWatch } from "./generate-watch.js";
import { interruptOf, printTo, type Terminal } from "./terminal.js";

/**
 * Compiles after every save, beside `convex dev`, which starts after the first compile so that it
 * pushes nothing old. Either one's end ends the other. Gives 0 after Ctrl-C, else its exit code.
 */
export async function dev(
  convexOptions: readonly string[],
  { dir }: { readonly dir?: string },
  terminal: Terminal,
): Promise<number> {
  const functionsDir = functionsFolder(terminal.cwd, dir);
  const program = convexProgram(terminal.cwd);
  const stop = new AbortController();
  const interrupted = interruptOf(terminal);
  interrupted.addEventListener("abort", () => stop.abort(), { once: true });
  let code: Promise<number> | undefined;
  const { out } = printTo(terminal);
  const brief = { write: (text: string) => void terminal.stdout.write(oneLine(text)) };
  const ready = () => {
    out(
      `Watching ${displayPath(terminal.cwd, functionsDir)}, beside convex dev. Ctrl-C ends both.`,
    );
    const args = [program, "dev", ...convexOptions];
    const child = spawn(process.execPath, args, { cwd: terminal.cwd, stdio: "inherit" });
    code = endOf(child, stop);
  };
  await generateWatch(functionsDir, { ...terminal, stdout: brief }, { signal: stop.signal, ready });
  const ended = (await code) ?? 0;
  if (interrupted.aborted) return 0;
  printTo(terminal).err(`convex dev has ended with exit code ${ended}.`);
  return ended;
}

/** Waits for the program's end, which ends the watching; when that is stopped, ends the program. */
async function endOf(child: ChildProcess, stop: AbortController): Promise<number> {
  // A terminal's Ctrl-C reaches the program by itself, and it gets time for its own clean-up.
  const graceMs = process.stdin.isTTY ? 1000 : 0;
  stop.signal.addEventListener("abort", () => {
    setTimeout(() => child.kill(), graceMs).unref();
  });
  const [code] = (await once(child, "exit")) as [number | null];
  stop.abort();
  return code ?? 1;
}

function convexProgram(cwd: string): string {
  const require = createRequire(join(cwd, "package.json"));
  try {
    const file = require.resolve("convex/package.json");
    const { bin } = require(file) as { bin: { convex: string } };
    return join(dirname(file), bin.convex);
  } catch {
    throw new UsageError(
      "convex is not installed, so there is no convex dev to run. Install it: npm install convex",
    );
  }
}

/** One line for each save: the first file, how many others, and the counts. */
function oneLine(text: string): string {
  const [first = "", ...others] = text.trimEnd().split("\n");
  const last = others.pop();
  if (last === undefined) return text;
  const more = others.length > 0 ? ` and ${plural(others.length, "other file")}` : "";
  return `${first}${more}; ${last}\n`;
}
