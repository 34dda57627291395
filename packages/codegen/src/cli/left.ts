import type { Former, Leftover, ProjectPlan } from "../plan/schema.js";

/** What is left behind of a workflow, by the names of its stages. */
export interface Left extends Pick<Leftover, "workflow" | "stages"> {
  /** Of a file that forwards to where the workflow's functions stand now: the folder that it is in, where they stood before. */
  readonly folder?: string;
}

export const named = ({ workflow, stages }: Leftover): Left => ({ workflow, stages });

/** The files that forward from a folder. */
export const forwards = ({ folder, workflows }: Former): Left[] =>
  workflows.map((workflow) => ({ workflow, stages: [], folder }));

/** All that earlier versions have left behind. */
export const leftIn = ({ removed = [], former = [] }: ProjectPlan): Left[] => [
  ...removed.map(named),
  ...former.flatMap(forwards),
];
