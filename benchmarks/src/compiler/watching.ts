import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync, watch, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { definition, definitionFile, generatedFile, planFile, type Project } from "./project.js";

/** Ms between two saves: a person takes longer, and what the last one caused is over. */
const restMs = 120;

/** Ms after which an answer is not waited for any more. */
const patienceMs = 20_000;

/**
 * Saves definitions of a project while `generate --watch` runs, each time with another step.
 *
 * @returns for each save, the ms from its beginning until all that follows from it was written
 */
export async function answersToSaves(
  command: string,
  project: Project,
  saves: number,
): Promise<number[]> {
  const child = spawn(process.execPath, [command, "--watch"], {
    cwd: project.folder,
    stdio: ["ignore", "pipe", "inherit"],
  });
  const exited = once(child, "exit");
  try {
    await new Promise<void>((resolve) => {
      child.stdout.on("data", (text: Buffer) => {
        if (text.includes("Watching")) resolve();
      });
    });
    const answers: number[] = [];
    for (let save = 1; save <= saves; save++) {
      await sleep(restMs);
      // Not one after the other, so that neighbours have no part in it.
      answers.push(await answerTo(save, (save * 37) % project.workflows, project));
    }
    return answers;
  } finally {
    child.kill();
    await exited;
  }
}

async function answerTo(save: number, index: number, project: Project): Promise<number> {
  const { functionsDir } = project;
  const read = (path: string) => readFileSync(join(functionsDir, path), "utf8");
  const name = `profile${save}`;
  const isWritten = () =>
    [generatedFile(index), planFile(index)].every((path) => read(path).includes(`"${name}"`));
  const given = new AbortController();
  const watcher = watch(join(functionsDir, "_workflows"), { signal: given.signal });
  const gaveUp = setTimeout(
    () => given.abort(new Error(`save ${save} was not answered`)),
    patienceMs,
  );
  try {
    const started = performance.now();
    writeFileSync(join(functionsDir, definitionFile(index)), definition(index, save));
    return await new Promise<number>((resolve, reject) => {
      given.signal.addEventListener("abort", () => reject(given.signal.reason as Error));
      watcher.on("change", () => {
        const now = performance.now();
        if (isWritten()) resolve(now - started);
      });
    });
  } finally {
    clearTimeout(gaveUp);
    watcher.close();
  }
}

/** The value that a share of all is not above. */
export function percentile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] ?? Number.NaN;
}
