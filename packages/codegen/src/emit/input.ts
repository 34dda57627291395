import type { Expression, ImportedName } from "../plan/expression.js";
import type { InputPlan } from "../plan/schema.js";
import { hardline, type Doc } from "./print/doc.js";
import type { FileNames } from "./names.js";

/** The `input` of a generated file: where it comes from, or its declaration. */
export interface EmittedInput {
  readonly local: string;
  readonly imports: readonly { readonly name: ImportedName; readonly local: string }[];
  /** Absent when it is imported. */
  readonly declaration?: Doc;
}

export function emitInput(input: InputPlan, names: FileNames): EmittedInput {
  if (input.kind === "import") {
    const local = names.of("input");
    return { local, imports: [{ name: input.import, local }] };
  }
  // The user's names are asked for first: in the copy they read best as they were.
  const imports = input.imports.map((name) => ({
    name,
    local: names.of(`imported:${name.local}`, name.local),
  }));
  const localOf = new Map(imports.map(({ name, local }) => [name.local, local]));
  const local = names.of("input");
  return { local, imports, declaration: declare(local, input.expression, localOf) };
}

/** As it was written, by the user's own layout. */
function declare(local: string, { parts }: Expression, localOf: ReadonlyMap<string, string>): Doc {
  const text = parts.map((part) => {
    if (typeof part === "string") return part;
    const name = localOf.get(part.name) ?? part.name;
    return part.shorthand && name !== part.name ? `${part.name}: ${name}` : name;
  });
  return ["// prettier-ignore", hardline, `const ${local} = ${text.join("")};`];
}
