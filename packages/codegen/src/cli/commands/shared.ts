import { Option } from "commander";

/** Where the app is: every command that looks at one has it. */
export function dirOption(): Option {
  return new Option(
    "--dir <folder>",
    'the functions folder (default: "functions" of convex.json, else convex)',
  );
}

/** What stands below a command's options: a note, where there is one, and command lines as a person would type them. */
export function examples(lines: readonly string[], note?: string): string {
  const before = note === undefined ? "" : `\n${note}\n`;
  return `${before}\nExamples:\n${lines.map((line) => `  $ ${line}`).join("\n")}`;
}
