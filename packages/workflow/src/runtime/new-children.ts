import { getConvexSize, type Value } from "convex/values";
import type { Beginning, NewChild, NewChildren } from "../component/validators.js";
import type { Child } from "../definition/children.js";
import { describeThrown, Failure } from "../errors/failure.js";
import { canWait } from "./place.js";
import type { WorkflowReference } from "./reference.js";

/** As many fields as an object can have. */
const MAX_KEYS = 1_024;
/** A page is one document, of at most 1 MiB, and inserted by one transaction. */
const MAX_PAGE = 500;
const MAX_PAGE_BYTES = 512 * 1024;
/** Of all inputs together: they are written by one transaction, which can write 16 MiB. */
const MAX_INPUT_BYTES = 8 * 1024 * 1024;

/**
 * What `children` gave, as the component takes it. An input that does not fit its schema fails its
 * child, not the parent. If some can wait without a slot, all run at once: else those that wait
 * could keep the others from beginning, forever.
 */
export async function newChildren(
  stage: string,
  given: unknown,
  references: readonly WorkflowReference<never>[],
): Promise<Pick<NewChildren, "begins" | "pages" | "keyed" | "concurrency">> {
  const keyed = !Array.isArray(given);
  const entries = entriesOf(stage, given);
  if (keyed) checkKeys(stage, entries);
  const begins: Beginning[] = [];
  const pages: NewChild[][] = [];
  const places = new Map<WorkflowReference<never>, number>();
  let [bytes, pageBytes] = [0, 0];
  for (const [key, child] of entries) {
    const reference = referenceOf(references, stage, key, child);
    const begin = places.get(reference) ?? begins.push(await reference.begin()) - 1;
    places.set(reference, begin);
    const made = { begin, key: keyed ? key : undefined, ...parsedInput(reference, child.input) };
    const size = getConvexSize(made as Value);
    bytes += size;
    pageBytes += size;
    const page = pages.at(-1);
    if (page !== undefined && page.length < MAX_PAGE && pageBytes <= MAX_PAGE_BYTES)
      page.push(made);
    else {
      pages.push([made]);
      pageBytes = size;
    }
  }
  if (bytes > MAX_INPUT_BYTES)
    throw new Failure(
      "tooLarge",
      `The inputs of the children of "${stage}" take ${bytes} bytes together; at most ${MAX_INPUT_BYTES} can be stored. Put the data into file storage or a table, and pass ids`,
    );
  const waits = [...places.keys()].some(({ definition }) => canWait(definition));
  return { begins, pages, keyed, concurrency: waits ? Infinity : undefined };
}

function referenceOf(
  references: readonly WorkflowReference<never>[],
  stage: string,
  key: string,
  { workflow }: Child<unknown>,
): WorkflowReference<never> {
  const found = references.find(
    ({ name, definition }) => definition === workflow || name === workflow,
  );
  if (found !== undefined) return found;
  throw new Failure(
    "thrown",
    `Child ${key} of "${stage}" is of a workflow that the compiler did not see there: write child(theWorkflow, …) in "children" itself, export the workflow, and run workflow-codegen`,
  );
}

/** The outputs are stored under the keys, which must be names that a field can have. */
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

/** What `children` gave, with the key or the index of each. */
function entriesOf(stage: string, given: unknown): [string, Child<unknown>][] {
  const unfit = (why: string) =>
    new Failure("invalidOutput", `The children of "${stage}" must ${why}`);
  if (given instanceof Promise)
    throw unfit(
      "not be async: have the parent's handler look up what they need, and read its output",
    );
  // A set, a map or a generator has no entries of its own, and would be no children at all.
  const isListed = Array.isArray(given) || !(Symbol.iterator in Object(given));
  const isObject = typeof given === "object" && given !== null && isListed;
  // A hole of a list is no entry, but a child is missing there.
  const entries = isObject ? Object.entries(Array.isArray(given) ? [...given] : given) : undefined;
  const wrong = entries?.find(([, child]) => !isChild(child));
  if (entries !== undefined && wrong === undefined) return entries;
  const where = wrong === undefined ? "" : `; at ${wrong[0]} there is something else`;
  throw unfit(`be a list or a record of child(workflow, input)${where}`);
}

function isChild(value: unknown): value is Child<unknown> {
  return typeof value === "object" && value !== null && "workflow" in value && "input" in value;
}

/** A child's input, parsed; if it does not fit its schema, why. */
export function parsedInput(
  reference: WorkflowReference<never>,
  input: unknown,
): Pick<NewChild, "error" | "input"> {
  try {
    return { input: reference.parse(input) };
  } catch (error) {
    const at = { workflow: reference.name, node: "input", attempt: 1 };
    return { input: null, error: { ...describeThrown(error), ...at } };
  }
}
