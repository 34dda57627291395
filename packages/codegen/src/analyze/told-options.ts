import type { CodeName } from "../diagnostics/codes.js";
import { meant, nearest } from "../diagnostics/nearest.js";
import { type Node, ts } from "../typescript.js";
import { isFunctionNode, type Option } from "./functions.js";
import { essential, ofFunctions, type Options, policies, structural } from "./options.js";
import type { DefinitionFile } from "./parser.js";

/* What is said of options that are missing, unknown, or in an order without types. */

/** What something cannot do without, each with an example: all of them, and one of the others. */
export interface Needs {
  readonly needed?: Examples;
  readonly needsOne?: Examples;
}

type Examples = Readonly<Record<string, string>>;

/** Options as they are written: `on: …, cases: …`. */
export const written = (examples: Examples): string =>
  Object.entries(examples)
    .map(([name, example]) => `${name}: ${example}`)
    .join(", ");

/** Returns the names of what is missing and is reported: of each thing, those that it may have. */
function missingIn(options: Options, { needed = {}, needsOne = {} }: Needs): readonly string[][] {
  const wanted = [...Object.keys(needed).map((name) => [name]), Object.keys(needsOne)];
  const isTold = (name: string) => options.rest === undefined || ofFunctions.has(name);
  return wanted.filter((names) => names.some(isTold) && !names.some((name) => options.has(name)));
}

/** Reports options that are none. Those that may have been meant by what is missing are not. */
export function reportUnknown(
  options: Options,
  known: readonly string[],
  of: string,
  file: DefinitionFile,
  { code = "noEffect", ...needs }: Needs & { readonly code?: CodeName } = {},
): void {
  const missing = missingIn(options, needs);
  const isUnlike = missing.some((names) => slipOf(options, names) === undefined);
  for (const { name, nameNode } of unknownIn(options, known, code)) {
    const near = meantBy(name, known);
    // What stands in the place of something that is missing is reported as that.
    const isInPlace = missing.some((names) => near !== undefined && names.includes(near));
    if (isInPlace || (near === undefined && isUnlike && options.rest === undefined)) continue;
    const message = `\`${name}\` is no option of ${of}${code === "noEffect" ? ": it has no effect" : ""}`;
    const hint = meant(name, known, `its options are ${known.join(", ")}`);
    file.report(code, nameNode, message, hint);
  }
}

/** Returns what is said of options that may have been meant by those that are missing. */
export function strangersIn(options: Options, known: readonly string[]): string {
  const names = unknownIn(options, known).flatMap(({ name }) =>
    meantBy(name, known) === undefined ? [`\`${name}\``] : [],
  );
  if (names.length === 0) return "";
  return `, and ${listed(names, "and")} ${names.length === 1 ? "is no option" : "are no options"} of it`;
}

export function listed(names: readonly string[], word: "and" | "or"): string {
  const [last = "", ...before] = names.toReversed();
  return before.length === 0 ? last : `${before.toReversed().join(", ")} ${word} ${last}`;
}

function unknownIn(
  options: Options,
  known: readonly string[],
  code: CodeName = "noEffect",
): Option[] {
  // Of what has no handler, the options of one are reported as what has no effect there; `limits`
  // and `waitAtMost` are for steps alone. In JavaScript, a reference with `args` may be any handler.
  const isHandled = known.includes("mutation");
  const isWhole = isHandled || known.includes("input") || code !== "noEffect";
  const others = ["limits", "waitAtMost", ...(isWhole ? [] : policies)];
  if (isHandled) others.push("args");
  // What others share may be for other nodes too.
  return [...options.values()].filter(
    ({ name, elsewhere }) =>
      !known.includes(name) && !others.includes(name) && elsewhere === undefined,
  );
}

/** Options that say the same of different kinds of nodes. */
const alike: Readonly<Partial<Record<string, string>>> = {
  cases: "branches",
  branches: "cases",
  items: "of",
  child: "children",
  args: "input",
};

/** The option that was meant by a name that is none. */
function meantBy(name: string, known: readonly string[]): string | undefined {
  const other = alike[name];
  return other !== undefined && known.includes(other) ? other : nearest(name, known);
}

export const slipOf = (options: Options, wanted: readonly string[]): string | undefined =>
  [...options.keys()].find((name) => meantBy(name, wanted) !== undefined);

export function slipHint(options: Options, wanted: readonly string[]): string | undefined {
  const slip = slipOf(options, wanted);
  return slip && `did you mean \`${meantBy(slip, wanted)}\` where it has \`${slip}\`?`;
}

/** Reports options in an order in which TypeScript infers `unknown` or `any`. */
export function reportOrder(
  options: Options,
  order: readonly (readonly string[])[],
  of: string,
  file: DefinitionFile,
): void {
  // JavaScript has no types to infer, and runs them in any order.
  if (/\.jsx?$/.test(file.file)) return;
  const rank = (name: string) => order.findIndex((names) => names.includes(name));
  // What comes from elsewhere has its types there.
  const ranked = [...options.values()].filter(
    ({ name, elsewhere }) => rank(name) >= 0 && elsewhere === undefined,
  );
  for (const [index, option] of ranked.entries()) {
    const before = ranked.slice(0, index).find((other) => rank(other.name) > rank(option.name));
    if (before === undefined) continue;
    const right = ranked.map(({ name }) => name).sort((a, b) => rank(a) - rank(b));
    const message = `${of} has \`${option.name}\` after \`${before.name}\`: TypeScript cannot infer their types in this order`;
    const hint = `write them in the order ${right.join(", ")}`;
    file.report("optionOrder", option.nameNode, message, hint);
    return;
  }
}

/** Says whether something stands in the place of options that cannot hold any. */
const isNoObject = (node: Node): boolean =>
  isFunctionNode(node) || ts.isArrayLiteralExpression(node) || ts.isLiteralExpression(node);

/** Reports what is missing: each that has another name by itself, and all others at once. */
export function reportMissing(
  options: Options,
  needed: Examples,
  { label, at }: { readonly label: string; readonly at: Node },
  file: DefinitionFile,
  known: readonly string[] = Object.keys(needed),
): void {
  const isObject = !options.rest?.every(isNoObject);
  const isWhole = options.rest === undefined || !isObject;
  const missing: [name: string, value: string][] = [];
  for (const [name, example] of Object.entries(needed)) {
    if (options.has(name) || (!isWhole && !essential.has(name))) continue;
    const slip = slipHint(options, [name]);
    if (slip !== undefined) file.report("missingOption", at, `${label} has no \`${name}\``, slip);
    else missing.push([name, isWhole || structural.has(name) ? example : `shared.${name}`]);
  }
  if (missing.length === 0) return;
  const names = listed(
    missing.map(([name]) => `\`${name}\``),
    "or",
  );
  const add = written(Object.fromEntries(missing));
  const others = isWhole ? strangersIn(options, known) : " that can be seen here";
  const beside = isObject ? `add \`${add}\`` : `write \`{ ${add} }\``;
  const hint = isWhole ? beside : `write it beside the spread: \`{ ...shared, ${add} }\``;
  file.report("missingOption", at, `${label} has no ${names}${others}`, hint);
}
