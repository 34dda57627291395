import type { DefinitionFile } from "../definition-file.js";
import type { Options } from "../options.js";

/** Options of the language that this version does not compile; to ignore one would change what the workflow does. */
const later = new Set(["compensate", "recover", "sensitive", "reduce"]);

export function reportUnsupportedOptions(options: Options, of: string, file: DefinitionFile): void {
  for (const option of options.values()) {
    if (!later.has(option.name)) continue;
    file.report(
      "unsupportedOption",
      option.nameNode,
      `${of} has the option \`${option.name}\`, which is not supported yet by this version`,
      {
        hint: "remove it for now",
      },
    );
  }
}

/** Reports the options of a node that stand in an order in which TypeScript infers `unknown` or `any`. */
export function reportOrder(
  options: Options,
  order: readonly (readonly string[])[],
  of: string,
  file: DefinitionFile,
): void {
  const rank = (name: string) => order.findIndex((names) => names.includes(name));
  const ranked = [...options.values()].filter(({ name }) => rank(name) >= 0);
  for (const [index, option] of ranked.entries()) {
    const before = ranked.slice(0, index).find((other) => rank(other.name) > rank(option.name));
    if (before === undefined) continue;
    const right = ranked.map(({ name }) => name).sort((a, b) => rank(a) - rank(b));
    file.report(
      "optionOrder",
      option.nameNode,
      `${of} has \`${option.name}\` after \`${before.name}\`: TypeScript cannot infer their types in this order`,
      {
        hint: `write them in the order ${right.join(", ")}`,
      },
    );
    return;
  }
}
