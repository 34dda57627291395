import { answerUnchanged } from "./unchanged.js";

// Everything else, commands and libraries alike, is loaded only when there is something to do.
if (!answerUnchanged(process.argv.slice(2), process.cwd())) await import("./start.js");
