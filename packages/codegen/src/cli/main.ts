import { answerUnchanged } from "./unchanged.js";

// Whoever reads the output may have seen enough of it, as `head` does; that is no error.
for (const stream of [process.stdout, process.stderr]) {
  stream.on("error", (error: NodeJS.ErrnoException) => {
    if (error.code === "EPIPE") process.exit();
    throw error;
  });
}

const folder = workingFolder();
// Everything else, commands and libraries alike, is loaded only when there is something to do.
if (folder !== undefined && !(await answerUnchanged(process.argv.slice(2), folder)))
  await (await import("./program.js")).main();

/** Undefined, which is said, when it has been removed since the shell went into it. */
function workingFolder(): string | undefined {
  try {
    return process.cwd();
  } catch {
    process.stderr.write(
      "The folder in which workflow-codegen was started is not there any more: go into the folder of your app, and run it again.\n",
    );
    process.exitCode = 1;
    return undefined;
  }
}
