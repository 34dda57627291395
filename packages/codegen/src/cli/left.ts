import type { Leftover } from "../plan/schema.js";

/** What is left behind of a workflow, by the names of its stages. */
export interface Left extends Pick<Leftover, "workflow" | "stages"> {
  /** The compensations among it. */
  readonly undoes?: readonly string[];
}

export const named = ({ workflow, stages, undoes = [] }: Leftover): Left => ({
  workflow,
  stages,
  ...(undoes.length === 0 ? {} : { undoes: undoes.map(({ stage }) => stage) }),
});
