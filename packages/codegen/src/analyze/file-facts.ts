import type { ModuleFacts } from "./import-cycles.js";
import type { Reexport } from "./reexports.js";

/** What other definition files may need to know of one, as data. */
export interface FileFacts {
  readonly file: string;
  /** Its workflows, by the names under which they are exported, and those of the variables that hold them. */
  readonly definitions: readonly { readonly name: string; readonly local: string }[];
  /** Every variable that a workflow is assigned to, also where something is wrong with it. */
  readonly locals: readonly string[];
  /** The modules that it imports values from. */
  readonly imports: readonly string[];
  readonly reexports: readonly Reexport[];
  readonly module: ModuleFacts;
}
