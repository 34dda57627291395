import { usualOutput } from "../plan/paths.js";
import { property } from "./print/code.js";
import type { Doc } from "./print/doc.js";
import { literal } from "./print/literal.js";

/** What all generated files of an app have in common. */
export interface Setting {
  /** The name under which the component is mounted. */
  readonly component: string;
  /** The folder under the functions folder that they stand in. */
  readonly output: string;
}

/** What the run time is told of that: where the functions are, unless they are where it looks for them by itself. */
export const folderOption = ({ output }: Setting): Doc[] =>
  output === usualOutput ? [] : [property("folder", literal(output))];
