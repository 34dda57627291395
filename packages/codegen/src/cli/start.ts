import { CommanderError } from "commander";
import { runProgram } from "./program.js";
import { printTo, processTerminal } from "./terminal.js";

const terminal = processTerminal();

/** Errors that say all there is to say; any other is a fault of the compiler, whose stack helps to find it. */
const expected = new Set([
  "UsageError",
  "WriteRefused",
  "WriteFailed",
  "PlanUnreadable",
  "Unreadable",
  "GitFailed",
]);

try {
  await runProgram(terminal, process.argv.slice(2));
} catch (error) {
  terminal.exitCode = exitCodeOf(error);
}
process.exitCode = terminal.exitCode;

function exitCodeOf(error: unknown): number {
  // Commander has printed its message already.
  if (error instanceof CommanderError) return error.exitCode;
  const print = printTo(terminal);
  if (error instanceof Error && expected.has(error.name)) print.err(error.message);
  else {
    print.err(
      "workflow-codegen failed, by a fault of its own. Please report this with the definition that caused it:",
    );
    print.err(error instanceof Error && error.stack !== undefined ? error.stack : String(error));
  }
  return 1;
}
