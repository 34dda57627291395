import { nearest } from "../../diagnostics/nearest.js";
import type { DefinitionFile } from "../definition-file.js";
import { handlerKinds } from "../handlers.js";
import type { Options } from "../options.js";

export const policies: readonly string[] = ["retry", "timeout", "isolate"];

export function reportUnknown(
  options: Options,
  known: readonly string[],
  of: string,
  file: DefinitionFile,
): void {
  // Of what has no handler, the options of one are reported as what has no effect there.
  const others = known.includes("mutation") || known.includes("input") ? [] : policies;
  for (const { name, nameNode } of options.values()) {
    if (known.includes(name) || others.includes(name)) continue;
    const near = nearest(name, known);
    // What stands in the place of something that is missing is reported as that.
    if (near !== undefined && !options.has(near) && needed.has(near)) continue;
    const message = `\`${name}\` is no option of ${of}: it has no effect`;
    const hint =
      near === undefined ? `its options are ${known.join(", ")}` : `did you mean \`${near}\`?`;
    file.report("noEffect", nameNode, message, hint);
  }
}

/** Options whose absence is reported, by whichever kind of node. */
const needed: ReadonlySet<string> = new Set([
  ...handlerKinds,
  ..."children on cases initial body until maxIterations step".split(" "),
]);

/** Reports options in an order in which TypeScript infers `unknown` or `any`. */
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
    const message = `${of} has \`${option.name}\` after \`${before.name}\`: TypeScript cannot infer their types in this order`;
    const hint = `write them in the order ${right.join(", ")}`;
    file.report("optionOrder", option.nameNode, message, hint);
    return;
  }
}

export function reportMissing(
  options: Options,
  needed: Readonly<Record<string, string>>,
  { label, at }: { readonly label: string; readonly at: Parameters<DefinitionFile["report"]>[1] },
  file: DefinitionFile,
): void {
  for (const [name, example] of Object.entries(needed)) {
    if (options.has(name)) continue;
    const slip = [...options.keys()].find((each) => nearest(each, [name]) !== undefined);
    const message = `${label} has no \`${name}\``;
    const hint =
      slip === undefined
        ? `add \`${name}: ${example}\``
        : `did you mean \`${name}\` where it has \`${slip}\`?`;
    file.report("missingOption", at, message, hint);
  }
}
