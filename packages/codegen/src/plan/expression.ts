import * as z from "zod";

/** The `input` of a definition as written, cut at the names that the generated file imports. */
export interface Expression {
  readonly parts: readonly (string | { readonly name: string; readonly shorthand: boolean })[];
}

/** How a name comes into a definition's file. */
export const importedName = z.object({
  local: z.string(),
  /** The name in its module, in quotes if it is no identifier; `*` for the whole module. */
  imported: z.string(),
  module: z.string(),
  typeOnly: z.boolean(),
});
export type ImportedName = z.infer<typeof importedName>;
