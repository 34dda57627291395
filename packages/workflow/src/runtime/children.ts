import { getConvexSize, type Value } from "convex/values";
import type { NewChild } from "../component/validators.js";
import type { Child } from "../definition/children.js";
import { describeThrown, Failure } from "../errors/failure.js";
import type { Beginning, WorkflowReference } from "./reference.js";

/** As many as one transaction can insert with their inputs; see the component's `children.ts`. */
const MAX_CHILDREN = 4_000;
/** As many fields as an object may have. */
const MAX_KEYS = 1_024;
/** Of all inputs together: they are written by one transaction, which may write 16 MiB. */
const MAX_INPUT_BYTES = 8 * 1024 * 1024;

/**
 * What `children` gave, as the component takes it: in order, with keys for a record, each input parsed. An input that does not fit its
 * schema fails its child, not the parent.
 */
export async function childrenOf(
  stage: string,
  given: unknown,
  references: readonly WorkflowReference<never>[],
): Promise<{ children: NewChild[]; keyed: boolean }> {
  const keyed = !Array.isArray(given);
  const entries = entriesOf(stage, given);
  if (entries.length > MAX_CHILDREN)
    throw new Failure(
      "tooLarge",
      `"${stage}" has ${entries.length} children; at most ${MAX_CHILDREN} can be started. Let children have children of their own`,
    );
  if (keyed) checkKeys(stage, entries);
  const beginnings = new Map<WorkflowReference<never>, Beginning>();
  const children: NewChild[] = [];
  let bytes = 0;
  for (const [key, child] of entries) {
    const reference = references.find(({ definition }) => definition === child.workflow);
    if (reference === undefined)
      throw new Failure(
        "thrown",
        `Child ${key} of "${stage}" is of a workflow that the compiler did not see there: write child(theWorkflow, …) in "children" itself, export the workflow, and run workflow-codegen`,
      );
    const beginning = beginnings.get(reference) ?? (await reference.begin());
    beginnings.set(reference, beginning);
    const parsed = parsedInput(reference, child.input);
    bytes += getConvexSize(parsed.input);
    children.push({ ...beginning, ...(keyed ? { key } : {}), ...parsed });
  }
  if (bytes <= MAX_INPUT_BYTES) return { children, keyed };
  throw new Failure(
    "tooLarge",
    `The inputs of the children of "${stage}" take ${bytes} bytes together; at most ${MAX_INPUT_BYTES} can be stored. Put the data into file storage or a table, and pass ids`,
  );
}

/**
 * The outputs are gathered under the keys, so these must be names that a field can have.
 * @throws before any child has run.
 */
function checkKeys(stage: string, entries: readonly [string, unknown][]): void {
  if (entries.length > MAX_KEYS)
    throw new Failure(
      "tooLarge",
      `"${stage}" has ${entries.length} children in a record, which can have ${MAX_KEYS} fields. Give them as a list`,
    );
  const unfit = entries.find(([key]) => !/^[ -#%-^`-~][ -~]*$/.test(key));
  if (unfit === undefined) return;
  throw new Failure(
    "invalidOutput",
    `The children of "${stage}" have the key ${JSON.stringify(unfit[0])}: a key must not be empty, begin with $ or _, or hold other characters than ASCII. Give the children as a list`,
  );
}

/** @throws where no child could ever start. */
export function checkConcurrency(stage: string, concurrency: number | undefined): void {
  if (concurrency === undefined || concurrency === Infinity) return;
  if (Number.isInteger(concurrency) && concurrency >= 1) return;
  throw new Failure(
    "thrown",
    `The concurrency of "${stage}" is ${concurrency}: it must be a whole number from 1`,
  );
}

function entriesOf(stage: string, given: unknown): [string, Child<unknown>][] {
  const entries = typeof given === "object" && given !== null ? Object.entries(given) : undefined;
  const wrong = entries?.find(([, child]) => !isChild(child));
  if (entries === undefined || wrong !== undefined)
    throw new Failure(
      "invalidOutput",
      `The children of "${stage}" must be a list or a record of child(workflow, input)${wrong === undefined ? "" : `; at ${wrong[0]} there is something else`}`,
    );
  return entries;
}

function isChild(value: unknown): value is Child<unknown> {
  return typeof value === "object" && value !== null && "workflow" in value && "input" in value;
}

function parsedInput(
  reference: WorkflowReference<never>,
  input: unknown,
): Pick<NewChild, "error"> & { input: Value } {
  try {
    return { input: reference.parse(input) };
  } catch (error) {
    const problem = describeThrown(error);
    return {
      input: null,
      error: { ...problem, workflow: reference.name, node: "input", attempt: 1 },
    };
  }
}
