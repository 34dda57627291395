import type { ModuleFacts } from "./import-cycles.js";
import type { Reexport } from "./reexports.js";

/** What other definition files may need to know of one, as data. */
export interface FileFacts {
  readonly file: string;
  /** Its workflows, by their exported names and the names of their variables. */
  readonly definitions: readonly { readonly name: string; readonly local: string }[];
  /** Every variable that a workflow is assigned to, also where something is wrong with it. */
  readonly locals: readonly string[];
  /** The modules that it imports values from. */
  readonly imports: readonly string[];
  readonly reexports: readonly Reexport[];
  readonly module: ModuleFacts;
}
