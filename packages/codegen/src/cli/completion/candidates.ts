import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Argument, Command, Option } from "commander";
import { planFileIn, usualOutput } from "../../plan/paths.js";
import { generatedFolders } from "../../write/generated-folders.js";
import { wantedFolder } from "../functions-folder.js";

/**
 * What the last of the words may become, one a line: the word, a tab, and what it means where that is known. `:files` and `:folders`
 * stand for those that the shell finds, after the `=` if the word has one. Names of workflows are those of the last compilation, as nothing is parsed for this.
 *
 * @param program the commands, of whose own descriptions this is made
 * @param words what stands behind the command's name; the last one is being typed, and may be empty
 */
export function completions(program: Command, words: readonly string[], cwd: string): string[] {
  const current = words.at(-1) ?? "";
  const typed = read(program, words.slice(0, -1));
  const workflows = () => workflowNames(typed.dir, cwd);
  if (typed.valueOf !== undefined) return matching(valuesOf(typed.valueOf, workflows), current);
  const [, name, value] = /^(--[^=]+)=([^]*)$/.exec(current) ?? [];
  if (name !== undefined && value !== undefined) {
    const option = typed.command.options.find(({ long, required }) => long === name && required);
    const values = option === undefined ? [] : valuesOf(option, workflows);
    return matching(values, value, `${name}=`);
  }
  if (current.startsWith("-")) return matching(optionsOf(typed), current);
  const argument = typed.command.registeredArguments[typed.given];
  const names = typed.isRoot ? commandsOf(program) : [];
  const values = argument === undefined ? [] : valuesOf(argument, workflows);
  const found = [...names, ...values];
  return matching(found.length === 0 ? optionsOf(typed) : found, current);
}

interface Candidate {
  readonly word: string;
  readonly meaning?: string;
}

/** What the words before the current one say. */
interface Typed {
  readonly command: Command;
  /** Whether no command has been named: another one may follow, besides the options of the default one. */
  readonly isRoot: boolean;
  /** How many arguments of the command are there already. */
  readonly given: number;
  /** The option whose value is being typed. */
  readonly valueOf: Option | undefined;
  readonly dir: string | undefined;
  readonly used: ReadonlySet<string>;
}

function read(program: Command, words: readonly string[]): Typed {
  let command = find(program, "generate") ?? program;
  let isRoot = true;
  let given = 0;
  let valueOf: Option | undefined;
  let dir: string | undefined;
  const used = new Set<string>();
  for (const word of words) {
    if (valueOf !== undefined) {
      if (valueOf.long === "--dir") dir = word;
      valueOf = undefined;
      continue;
    }
    const option = command.options.find(({ long, short }) => word === long || word === short);
    if (word.startsWith("-")) {
      used.add(word);
      if (word.startsWith("--dir=")) dir = word.slice("--dir=".length);
      if (option?.required === true) valueOf = option;
      continue;
    }
    const named: Command | undefined = isRoot ? find(program, word) : undefined;
    if (named === undefined) given++;
    else command = named;
    isRoot &&= named === undefined;
  }
  // A word that is no command's name is followed by nothing that could be known.
  return { command, isRoot: isRoot && given === 0, given, valueOf, dir, used };
}

const find = (program: Command, name: string): Command | undefined =>
  program.commands.find((command) => command.name() === name);

function commandsOf(program: Command): Candidate[] {
  return program
    .createHelp()
    .visibleCommands(program)
    .map((command) => ({ word: command.name(), meaning: command.description() }));
}

/** Those that have not been given yet. */
function optionsOf({ command, used }: Typed): Candidate[] {
  return command
    .createHelp()
    .visibleOptions(command)
    .flatMap(({ long, description }) =>
      long === undefined || long === null || (used.has(long) && long !== "--file")
        ? []
        : [{ word: long, meaning: description }],
    );
}

/** By the name that an argument or an option's value has in the help. */
function valuesOf(of: Argument | Option, workflows: () => readonly string[]): Candidate[] {
  if (of.argChoices !== undefined) return of.argChoices.map((word) => ({ word }));
  const placeholder = "flags" in of ? of.flags.split(" ").at(-1) : of.name();
  switch (placeholder) {
    case "workflow":
      return workflows().map((word) => ({ word, meaning: "workflow" }));
    case "<folder>":
      return [{ word: ":folders" }];
    case "<file>":
    case "<plan.json>":
      return [{ word: ":files" }];
    default:
      return [];
  }
}

/** @param before what stands before each in the word that it becomes: `--format=` */
function matching(candidates: readonly Candidate[], current: string, before = ""): string[] {
  return candidates
    .filter(({ word }) => word.startsWith(":") || word.startsWith(current))
    .map(({ word, meaning }) => {
      const whole = word.startsWith(":") ? word : before + word;
      return meaning === undefined ? whole : `${whole}\t${meaning}`;
    });
}

/** Of the app in this folder, as far as it has been compiled; whatever is wrong with it, a completion is not the place to say so. */
function workflowNames(dir: string | undefined, cwd: string): string[] {
  try {
    const functionsDir = wantedFolder(cwd, dir);
    // The app's config says where it is, but is not parsed for this.
    const isUsual = existsSync(join(functionsDir, planFileIn(usualOutput)));
    const [output = usualOutput] = isUsual ? [] : generatedFolders(functionsDir);
    const text = readFileSync(join(functionsDir, planFileIn(output)), "utf8");
    const { workflows } = JSON.parse(text) as {
      workflows: { name: string }[];
    };
    return workflows.map(({ name }) => name).filter((name) => /^\w+$/.test(name));
  } catch {
    return [];
  }
}
