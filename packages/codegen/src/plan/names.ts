/** Words that cannot name an exported const, and globals that a module cannot declare. */
export const reservedWords = new Set(
  (
    "arguments await break case catch class const continue debugger default delete do else enum eval export extends false " +
    "finally for function if implements import in instanceof interface let new null package private protected public return " +
    "static super switch this throw true try typeof var void while with yield undefined NaN Infinity globalThis exports require module"
  ).split(" "),
);

/** Names of a scope, and of what every generated file exports. */
export const reservedForNodes =
  "children compensate each end entry error finalize input loop output reference run until".split(
    " ",
  );

/** Names of other generated files; Convex takes `schema` in any folder for a table schema. */
export const reservedForWorkflows = "api index plan schema workflows".split(" ");

/** The names of nodes that are last in their line, and have no name of their own. */
const lastNames = ["finalize", "end"];

/** Says whether generated code can have the function of a stage. */
export const isStageName = (name: string): boolean =>
  !reservedWords.has(stageIdentifier(name)) &&
  (lastNames.includes(name) || ![...reservedForNodes, "then"].includes(name));

/** Says whether generated code of a workflow of this name can stand in a file of that name. */
export const isWorkflowName = (name: string): boolean =>
  !reservedWords.has(name) && !reservedForWorkflows.includes(name.toLowerCase());

/** `chapters.output` is named `chaptersOutput`. */
export function stageIdentifier(stageName: string): string {
  if (!stageName.includes(".")) return stageName;
  const [first = "", ...rest] = stageName.split(".");
  return first + rest.map(capitalized).join("");
}

export const capitalized = (name: string): string => name.slice(0, 1).toUpperCase() + name.slice(1);
