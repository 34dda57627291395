import { namesInPath } from "@stepwise/workflow/rules";

/** The path of a node, also in runs below, as a person reads it: `mode › strict › parts › 7`. */
export const nodeName = (path: string): string =>
  Array.from(path.matchAll(/(?:^|[./])("[^]*?"(?=[./]|$)|[^./]*)/g), ([, name = ""]) => name).join(
    " › ",
  );

/** What a run is called: a branch by its path in its workflow. */
export const partName = (run: { workflow: string; within?: string | undefined }): string =>
  [run.workflow, ...(run.within === undefined ? [] : namesInPath(run.within))].join(" › ");
