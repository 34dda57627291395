import { execFile } from "node:child_process";
import { mkdir, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { rm } from "../../../../scripts/folders.mjs";

const run = promisify(execFile);
const require = createRequire(import.meta.url);
/**
 * Below `node_modules`, where no tool looks, and from where packages are found as they are from
 * here.
 */
const cache = new URL("../../node_modules/.cache/", import.meta.url);

/**
 * What `tsc` prints about a file of this folder that has the text given, under the compiler options
 * of this package.
 * @param name unique among the tests, which may run at once.
 * @param options of the command line.
 */
export async function compile(name: string, text: string, options: string[] = []): Promise<string> {
  const folder = new URL(`stepwise-${name}/`, cache);
  const at = (file: string) => fileURLToPath(new URL(file, folder));
  await mkdir(folder, { recursive: true });
  try {
    await writeFile(
      at("file.ts"),
      text.replaceAll(/(from ")(\.\.?\/)/g, "$1../../../test/types/$2"),
    );
    await writeFile(
      at("tsconfig.json"),
      JSON.stringify({ extends: "../../../tsconfig.json", include: [], files: ["file.ts"] }),
    );
    const tsc = join(dirname(require.resolve("typescript/package.json")), "bin/tsc");
    return await run(process.execPath, [tsc, "--project", at("."), ...options], {
      maxBuffer: 16 * 1024 * 1024,
    }).then(
      ({ stdout }) => stdout,
      // It ends with 2 where it has found errors.
      (error: { code?: unknown; stdout: string }) => {
        if (error.code === 1 || error.code === 2) return error.stdout;
        throw error;
      },
    );
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** The messages that `compile` printed, by line from 0. Those of one line stand together. */
export function messagesByLine(printed: string): Map<number, string> {
  const messages = new Map<number, string>();
  let line = -1;
  for (const text of printed.split("\n")) {
    const found = /file\.ts\((\d+),\d+\): error TS\d+: (.*)/.exec(text);
    if (found !== null) line = Number(found[1]) - 1;
    const message = found?.[2] ?? text;
    messages.set(line, `${messages.get(line) ?? ""}${message}\n`);
  }
  return messages;
}
