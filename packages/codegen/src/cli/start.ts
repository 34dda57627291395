import { CommanderError } from "commander";
import { runProgram } from "./program.js";
import { printTo, processTerminal } from "./terminal.js";

/** Errors that say all there is to say. For any other, the stack helps to find the fault. */
const expected = /^(UsageError|WriteRefused|WriteFailed|PlanUnreadable|Unreadable|GitFailed)$/;
const terminal = processTerminal();

try {
  await runProgram(terminal, process.argv.slice(2));
} catch (error) {
  terminal.exitCode = exitCodeOf(error);
}
process.exitCode = terminal.exitCode;

function exitCodeOf(error: unknown): number {
  // Commander has printed its message already.
  if (error instanceof CommanderError) return error.exitCode;
  const { err } = printTo(terminal);
  if (error instanceof Error && expected.test(error.name)) err(error.message);
  else {
    err(
      "workflow-codegen failed, by a fault of its own. Please report this with the definition that caused it:",
    );
    err(error instanceof Error && error.stack !== undefined ? error.stack : String(error));
  }
  return 1;
}
