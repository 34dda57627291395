import { isPlain, isPromise, literalText, partsOf } from "@stepwise/workpool/core";
import { getConvexSize, type Value } from "convex/values";
import type { Beginning, NewChild, NewChildren } from "../../component/validators.js";
import type { Child, EachChild } from "../../definition/parent.js";
import { describeThrown, Failure } from "../../errors/failure.js";
import { asWhole } from "../collect.js";
import { inputOf } from "../input.js";
import { oneOf } from "../one.js";
import { standingOf } from "../standing.js";
import { checkConcurrency, checkTolerate, checkWhole, optionOf } from "../options.js";
import { canWait, type Place } from "../place.js";
import type { WorkflowReference } from "../reference.js";
import type { Arrival, OfScope, Run } from "../run.js";

export interface Giving<Output> {
  readonly "~definition": { readonly "~output"?: () => Output };
}
/** The workflows that a child can be of by the output that it was declared with. */
type WorkflowOf<Each> = Each extends Child<infer Output> ? Giving<Output> : never;
type AnyOf<Each> = [Each] extends [never] ? unknown : WorkflowOf<Each>;
type Misdeclared<Each, References> = Each extends unknown
  ? [Extract<References, WorkflowOf<Each>>] extends [never]
    ? Each
    : never
  : never;

/** Demands a member if a `childNamed<Output>` says another output than that of its workflow. */
type AsDeclared<Each, References extends readonly unknown[]> = [
  | Misdeclared<Each, References[number]>
  // Of a list of all workflows most are not started here; nor is any by what gives no children.
  | (number extends References["length"] ? never : Exclude<References[number], AnyOf<Each>>),
] extends [never]
  ? unknown
  : Record<"a `childNamed<Output>` with the output of the workflow that it names", never>;

/** Evaluates a parent's children, once, and starts them: the component gets them in pages. */
export async function children<C, const References extends readonly WorkflowReference<never>[]>(
  run: Run,
  stage: string,
  given: (scope: never) => C,
  references: References & AsDeclared<EachChild<C>, References>,
): Arrival {
  await startAll(run, stage, async ({ called }) => {
    const value = given(await run.scopeFor(stage, "children"));
    return await newChildren(called, value, references);
  });
}

type Made = Pick<NewChildren, "begins" | "pages" | "keyed" | "concurrency" | "race">;

/** Starts what a node makes, within its options. */
export async function startAll(
  run: Run,
  stage: string,
  make: (place: Place) => Promise<Made>,
): Arrival {
  await run.arrive(stage, undefined, async (place) => {
    const { concurrency: most, tolerate } = place.node;
    const isMade = typeof most === "function";
    const concurrency: unknown = isMade ? most(await run.scopeFor(stage, "concurrency")) : most;
    const check: typeof checkConcurrency = isMade ? checkWhole : checkConcurrency;
    check(optionOf(run.own, stage, "concurrency"), concurrency);
    checkTolerate(optionOf(run.own, stage, "tolerate"), tolerate);
    const made = await make(place);
    run.beginDeadline(stage);
    const limits = { concurrency: concurrency ?? made.concurrency, tolerate };
    run.goOn({ kind: "children", children: { ...run.facts(stage), ...made, ...limits } });
  });
}

/** A `.child`: one run of a workflow, with the input that `args` gives. */
export async function child(
  run: Run,
  stage: string,
  args: OfScope,
  reference: WorkflowReference<never>,
): Arrival {
  await run.arrive(stage, undefined, async ({ node, kind, called }) => {
    if (kind.workflow?.(node) !== reference.definition)
      throw new Failure(
        "nonRetryable",
        `"${called}" of workflow "${run.own.workflow}" runs another workflow than "${reference.name}", which the generated code starts. Run workflow-codegen`,
      );
    const input = args(await run.scopeFor(stage, "args"));
    const pages = [[{ begin: 0, ...parsedInput(reference, input) }]];
    const begins = [await reference.begin()];
    const only = { ...run.facts(stage), begins, pages, keyed: false, single: true };
    run.goOn({ kind: "children", children: only });
  });
}

const MAX_KEYS = 1_024;
/** A page is one document, of at most 1 MiB, and inserted by one transaction. */
const MAX_PAGE = 500;
const MAX_PAGE_BYTES = 512 * 1024;
/** The size of all inputs together: one transaction writes them, which can write 16 MiB. */
const MAX_INPUT_BYTES = 8 * 1024 * 1024;

/**
 * Returns what `children` gave, as the component takes it. An invalid input fails its child, not
 * the parent. If some can wait without a slot, all run at once: no child keeps another from
 * beginning.
 */
async function newChildren(
  stage: string,
  given: unknown,
  references: readonly WorkflowReference<never>[],
): Promise<Made> {
  const keyed = !Array.isArray(given);
  const entries = entriesOf(stage, given);
  if (keyed) checkKeys(stage, entries);
  const begins: Beginning[] = [];
  const made: NewChild[] = [];
  const places = new Map<WorkflowReference<never>, number>();
  for (const [key, given] of entries) {
    const reference = referenceOf(references, stage, key, given);
    const begin = places.get(reference) ?? begins.push(await reference.begin()) - 1;
    places.set(reference, begin);
    made.push({ begin, key: keyed ? key : undefined, ...parsedInput(reference, given.input) });
  }
  const waits = [...places.keys()].some(({ definition }) => canWait(definition));
  return { begins, pages: pagesOf(stage, made), keyed, concurrency: waits ? Infinity : undefined };
}

/** Children in pages that each fit into a document. @throws if all are too much to be stored. */
export function pagesOf(stage: string, children: readonly NewChild[]): NewChild[][] {
  const made = children.map((child) => ({ child, size: getConvexSize(child as Value) }));
  const parts = partsOf(made, ({ size }) => size, { items: MAX_PAGE, bytes: MAX_PAGE_BYTES });
  const bytes = made.reduce((sum, { size }) => sum + size, 0);
  if (bytes > MAX_INPUT_BYTES)
    throw new Failure(
      "tooLarge",
      `The inputs of the children of "${stage}" take ${bytes} bytes together; at most ${MAX_INPUT_BYTES} can be stored. Put the data into file storage or a table, and pass ids`,
    );
  return [...parts].map((part) => part.map(({ child }) => child));
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
export function checkKeys(
  stage: string,
  entries: readonly [string, unknown][],
  what = "children",
): void {
  if (entries.length > MAX_KEYS)
    throw new Failure(
      "tooLarge",
      `"${stage}" has ${entries.length} ${what} in a record, which can have ${MAX_KEYS} fields. Give them as a list`,
    );
  const unfit = entries.find(([key]) => !/^[ -#%-^`-~][ -~]{0,1023}$/.test(key));
  if (unfit === undefined) return;
  throw new Failure(
    "invalidOutput",
    `The ${what} of "${stage}" have the key ${literalText(unfit[0])}: a key must not be empty, begin with $ or _, hold other characters than ASCII, or more than 1024 of them. Give the ${what} as a list`,
  );
}

/** The entries of a list or a record; undefined if it is neither. */
export function entriesIn(given: unknown): [string, unknown][] | undefined {
  // A hole of a list is no entry, but something is missing there.
  if (Array.isArray(given)) return Object.entries([...given]);
  // A set, a map or a date has no entries of its own, and would be nothing at all.
  return isPlain(given) ? Object.entries(given) : undefined;
}

function entriesOf(stage: string, given: unknown): [string, Child<unknown>][] {
  const unfit = (why: string) =>
    new Failure("invalidOutput", `The children of "${stage}" must ${why}`);
  if (isPromise(given))
    throw unfit(
      "not be async: have the parent's handler look up what they need, and read its output",
    );
  // A field of a record that is undefined is no child.
  const isGiven = (child: unknown) => Array.isArray(given) || child !== undefined;
  const entries = entriesIn(given)?.filter(([, child]) => isGiven(child));
  const wrong = entries?.find(([, child]) => !isChild(child));
  if (entries !== undefined && wrong === undefined) return entries as [string, Child<unknown>][];
  const where =
    wrong === undefined
      ? `, and are ${literalText(given)}`
      : `; at ${wrong[0]} there is ${literalText(wrong[1])}`;
  throw unfit(`be a list or a record of child(workflow, input)${where}`);
}

function isChild(value: unknown): value is Child<unknown> {
  return typeof value === "object" && value !== null && "workflow" in value && "input" in value;
}

/** A child's input, parsed, and the key of its `one`; if it does not fit its schema, why. */
function parsedInput(reference: WorkflowReference<never>, input: unknown) {
  try {
    const parsed = asWhole(reference, inputOf(reference, input));
    const standing = standingOf(reference, parsed.input);
    return { ...parsed, one: oneOf(reference, parsed.input), standing };
  } catch (error) {
    const at = { workflow: reference.name, node: "input", attempt: 1 };
    return { input: null, error: { ...describeThrown(error), ...at } };
  }
}
