import * as z from "zod";

/**
 * The `input` of a definition as it is written, in a form that can be laid out again and in which imported names can be
 * replaced. `verbatim` holds what is left as the user laid it out.
 */
export type Expression =
  /** A string, by its value. */
  | { kind: "string"; text: string }
  /** Another literal, or the name of a global, as it is written. */
  | { kind: "literal"; text: string }
  | { kind: "import"; name: string }
  | { kind: "member"; object: Expression; property: string }
  | { kind: "call"; callee: Expression; args: Expression[] }
  | { kind: "array"; items: Expression[] }
  | { kind: "object"; properties: { key: string; value: Expression }[]; open: boolean }
  | { kind: "verbatim"; parts: (string | { name: string; shorthand: boolean })[] };

/** How a name comes into a definition's file. */
export const importedName = z.object({
  /** The name in the definition's file. */
  local: z.string(),
  /** The name in the module it comes from; `*` for the whole module. */
  imported: z.string(),
  /** As written in the generated file. */
  module: z.string(),
  typeOnly: z.boolean(),
});
export type ImportedName = z.infer<typeof importedName>;
