import { afterwards } from "../cache/afterwards.js";
import type { Question } from "./main.js";
import { printTo, processTerminal, type Terminal } from "./terminal.js";

/** Errors that say all there is to say. For any other, the stack helps to find the fault. */
const expected = /^(UsageError|WriteRefused|WriteFailed|PlanUnreadable|Unreadable|GitFailed)$/;

/** Does what this process was started for, and reports what went wrong. */
export async function act(words: readonly string[], asked: Question | undefined): Promise<void> {
  const terminal = processTerminal();
  const { err } = printTo(terminal);
  try {
    if (asked === undefined) await (await import("./program.js")).runProgram(terminal, words);
    else terminal.exitCode = await answer(asked, terminal);
    for (const act of afterwards) act();
  } catch (error) {
    // Commander has printed its message already.
    const ofCommander = error instanceof Error && error.name === "CommanderError";
    terminal.exitCode = ofCommander && "exitCode" in error ? Number(error.exitCode) : 1;
    if (error instanceof Error && expected.test(error.name)) err(error.message);
    else if (!ofCommander) {
      err(
        "This is a bug in workflow-codegen. Please report it with the definition that caused it:",
      );
      err(error instanceof Error && error.stack !== undefined ? error.stack : String(error));
    }
  }
  process.exitCode = terminal.exitCode;
}

/** The same as through commander, without loading that. */
async function answer({ command, dir, json }: Question, terminal: Terminal): Promise<number> {
  const commands = await import("./generate.js");
  return await commands[command]({ ...(dir !== undefined && { dir }), json }, terminal);
}
