import { getConvexSize, type Value } from "convex/values";
import type { Beginning, NewChild } from "../component/validators.js";
import type { Child } from "../definition/children.js";
import { describeThrown, Failure } from "../errors/failure.js";
import type { WorkflowReference } from "./reference.js";

/** As many fields as an object may have. */
const MAX_KEYS = 1_024;
/** A page of children is stored as one document, of at most 1 MiB, and inserted by one transaction with two documents for each. */
const MAX_PAGE = 500;
const MAX_PAGE_BYTES = 512 * 1024;

/** Children in pages, as they are stored. */
export class Pages {
  readonly all: NewChild[][] = [];
  /** Of all inputs together. */
  bytes = 0;
  #pageBytes = 0;

  add(child: NewChild): void {
    const bytes = getConvexSize(child as Value);
    const last = this.all.at(-1);
    if (last === undefined || last.length >= MAX_PAGE || this.#pageBytes + bytes > MAX_PAGE_BYTES) {
      this.all.push([child]);
      this.#pageBytes = 0;
    } else last.push(child);
    this.#pageBytes += bytes;
    this.bytes += bytes;
  }
}

/** How the children's workflows begin: each found once. */
export function beginningsOf(references: readonly WorkflowReference<never>[]) {
  const all: Beginning[] = [];
  const places = new Map<WorkflowReference<never>, number>();
  return {
    all,
    async of(stage: string, key: string, workflow: Child<unknown>["workflow"]) {
      const reference = references.find(
        ({ name, definition }) => definition === workflow || name === workflow,
      );
      if (reference === undefined)
        throw new Failure(
          "thrown",
          `Child ${key} of "${stage}" is of a workflow that the compiler did not see there: write child(theWorkflow, …) in "children" itself, export the workflow, and run workflow-codegen`,
        );
      const known = places.get(reference);
      if (known !== undefined) return { begin: known, reference };
      const begin = all.push(await reference.begin()) - 1;
      places.set(reference, begin);
      return { begin, reference };
    },
  };
}

/**
 * The outputs are gathered under the keys, so these must be names that a field can have.
 * @throws before any child has run.
 */
export function checkKeys(stage: string, entries: readonly [string, unknown][]): void {
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
export function entriesOf(stage: string, given: unknown): [string, Child<unknown>][] {
  if (given instanceof Promise)
    throw new Failure(
      "invalidOutput",
      `The children of "${stage}" must not be async: have the parent's handler look up what they need, and read its output`,
    );
  // A set, a map or a generator has no entries of its own, and would be no children at all.
  const isListed = Array.isArray(given) || !(Symbol.iterator in Object(given));
  const isObject = typeof given === "object" && given !== null && isListed;
  // A hole of a list is no entry, but a child is missing there.
  const entries = isObject ? Object.entries(Array.isArray(given) ? [...given] : given) : undefined;
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

/** A child's input, parsed; where it does not fit its schema, why. */
export function parsedInput(
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
