import * as z from "zod";

/**
 * The `input` of a definition as it is written, cut at the names that the generated file imports:
 * another name of that file may be the same.
 */
export interface Expression {
  readonly parts: readonly (string | { readonly name: string; readonly shorthand: boolean })[];
}

/** How a name comes into a definition's file. */
export const importedName = z.object({
  /** The name in the definition's file. */
  local: z.string(),
  /** The name in the module it comes from, in quotes where it is no identifier; `*` for the whole module. */
  imported: z.string(),
  /** As written in the generated file. */
  module: z.string(),
  typeOnly: z.boolean(),
});
export type ImportedName = z.infer<typeof importedName>;
