import { Argument, type Command } from "commander";
import { completions } from "../completion/candidates.js";
import { scripts, type Shell } from "../completion/scripts.js";
import { printTo, type Terminal } from "../terminal.js";
import { examples } from "./shared.js";

export function registerCompletion(program: Command, terminal: Terminal): void {
  program
    .command("completion")
    .description("print a script by which a shell completes commands, options and workflows")
    .addArgument(new Argument("<shell>", "the shell to print it for").choices(Object.keys(scripts)))
    .addHelpText(
      "after",
      examples(
        [
          'eval "$(workflow-codegen completion bash)"     in ~/.bashrc',
          'eval "$(workflow-codegen completion zsh)"      in ~/.zshrc, after compinit',
          "workflow-codegen completion fish > ~/.config/fish/completions/workflow-codegen.fish",
        ],
        "The command must be found by its name: install it globally, or have node_modules/.bin in the PATH.",
      ),
    )
    .action((shell: Shell) => printTo(terminal).out(scripts[shell]));

  program
    .command("complete", { hidden: true })
    .description("what the scripts of `completion` ask")
    .argument("[words...]", "what has been typed, the last one being completed")
    .addHelpText("after", examples(["workflow-codegen complete -- run gr"]))
    .action((words: string[]) => {
      const found = completions(program, words, terminal.cwd);
      if (found.length > 0) printTo(terminal).out(found.join("\n"));
    });
}
