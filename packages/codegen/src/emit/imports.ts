import { group, ifBreak, indent, join, line, type Doc } from "./print/doc.js";
import { quoted } from "./print/text.js";

export interface ImportSpecifier {
  /** `*` for the whole module. */
  readonly imported: string;
  readonly local: string;
  readonly typeOnly?: boolean;
}

/** The import declarations of one module, in the order that their specifiers are given. */
export function importsFrom(module: string, specifiers: readonly ImportSpecifier[]): Doc[] {
  const from = [" from ", quoted(module), ";"];
  const whole = specifiers
    .filter(({ imported }) => imported === "*")
    .map(({ local, typeOnly }): Doc => [`import ${typeOnly ? "type " : ""}* as ${local}`, ...from]);
  const byDefault = specifiers
    .filter(({ imported, typeOnly }) => imported === "default" && !typeOnly)
    .map(({ local }): Doc => [`import ${local}`, ...from]);
  const named = specifiers.filter(
    ({ imported, typeOnly }) => imported !== "*" && (imported !== "default" || typeOnly),
  );
  if (named.length === 0) return [...whole, ...byDefault];
  const onlyTypes = named.every(({ typeOnly }) => typeOnly);
  const parts = named.map(({ imported, local, typeOnly }) => {
    const alias = imported === local ? local : `${imported} as ${local}`;
    return typeOnly && !onlyTypes ? `type ${alias}` : alias;
  });
  const head = onlyTypes ? "import type " : "import ";
  return [...whole, ...byDefault, [head, braces(parts), ...from]];
}

/** Prettier never breaks the braces around a single name. */
function braces(parts: readonly string[]): Doc {
  if (parts.length === 1) return ["{ ", ...parts, " }"];
  return group(["{", indent([line, join([",", line], parts)]), ifBreak(","), line, "}"]);
}
