import type { Command } from "commander";
import type { CheckOptions } from "../check.js";
import type { Terminal } from "../terminal.js";
import { dirOption, examples } from "./shared.js";

export function registerCheck(program: Command, terminal: Terminal): void {
  program
    .command("check")
    .description("say what is out of date, and what becomes of runs in flight; write nothing")
    .addOption(dirOption())
    .option(
      "--against <ref or plan>",
      "what is deployed: a git ref, or a plan (default: the main branch)",
    )
    .option("--json", "print what was found as JSON, to stdout")
    .option(
      "--drop",
      "when all is well, remove what nodes and workflows that are gone have left; with --against, but for what runs of that plan may need",
    )
    .addHelpText(
      "after",
      examples(
        [
          "workflow-codegen check",
          "workflow-codegen check --against production         a branch or tag with what is deployed",
          "workflow-codegen check --drop                       when no older run is in flight any more",
        ],
        "Exits with 1 on errors, when generate would write or remove something, and on changes that stop runs in flight." +
          "\nNodes and workflows that are gone leave their functions behind, for the runs that are at them; --drop is the only way to remove these.",
      ),
    )
    .action(async (options: CheckOptions) => {
      const { check } = await import("../check.js");
      terminal.exitCode = await check(options, terminal);
    });
}
