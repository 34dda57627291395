import { answerUnchanged } from "./unchanged.js";

// Whoever reads the output may have seen enough of it, as `head` does; that is no error.
for (const stream of [process.stdout, process.stderr]) {
  stream.on("error", (error: NodeJS.ErrnoException) => {
    if (error.code === "EPIPE") process.exit();
    throw error;
  });
}

// Everything else, commands and libraries alike, is loaded only when there is something to do.
if (!answerUnchanged(process.argv.slice(2), process.cwd())) await import("./start.js");
