import { quote } from "../diagnostics/diagnostic.js";
import { allNodes } from "../plan/flow.js";
import type { Fields } from "../plan/schema.js";
import { isLoop, takesEvents } from "../plan/stage-kinds.js";
import {
  type Change,
  type LinePair,
  type NodeThen,
  type WorkflowThen,
  readsOf,
  readsOfField,
} from "./lines.js";

interface FieldChange {
  readonly name: string;
  /** The field that it is, or is inside of; "" for the whole. */
  readonly field: string;
  /** What a value of the old schema is for the new one. */
  readonly is:
    | "absent"
    | "filled"
    | "unfilled"
    | "refused"
    | "retyped"
    | "dropped"
    | "loosened"
    | "closed"
    | "refined";
  /** How it has changed. */
  readonly what: string;
  /** Says whether runs may be there without a value that handlers now expect. */
  readonly isMissed: boolean;
}

/** Compares what each field was with what it is. The defaults themselves are not compared. */
function fieldChanges(before: Fields, now: Fields): FieldChange[] {
  const [was, is] = [fieldsOf(before.fields), fieldsOf(now.fields)];
  const isClosed = now.exact === true && before.exact !== true;
  const what = "takes no other fields now";
  const closed: FieldChange = { ...ofWhole, is: "closed", what };
  const found = [...new Set([...was.keys(), ...is.keys()])].flatMap((name): FieldChange[] => {
    const [old, field] = [was.get(name), is.get(name)];
    const change = (is: FieldChange["is"], what: string, isMissed = false) => [
      { name, field: name, is, what, isMissed },
    ];
    if (field === undefined)
      return change(now.exact === true ? "refused" : "dropped", "is removed");
    if (old === undefined) {
      if (field.flag === "") return change("refused", "is new and required", true);
      return change(field.flag === "=" ? "filled" : "absent", "is new", true);
    }
    const isSame = old.hash === field.hash;
    const isOther = !isSame && old.oneOf.some((each) => !field.oneOf.includes(each));
    const inside = isOther ? insideChanges(name, before, now) : [];
    if (inside === undefined) return change("retyped", "has another schema");
    if (old.flag === field.flag)
      return isSame || isOther || old.oneOf.length === field.oneOf.length
        ? inside
        : change("loosened", "takes more now");
    if (old.flag !== "?") {
      const is = field.flag === "" ? "unfilled" : "loosened";
      return [...change(is, `${words[old.flag]} before`), ...inside];
    }
    const flagged =
      field.flag === ""
        ? change("refused", "is required now", true)
        : change("filled", "has a default now", true);
    return [...flagged, ...inside];
  });
  return isClosed ? [...found, closed] : found;
}

/**
 * Compares what is inside a field that is an object, a list of these, or one of several with a tag;
 * undefined if one of them is not seen, or is gone.
 */
function insideChanges(name: string, before: Fields, now: Fields): FieldChange[] | undefined {
  const olds = before.inside?.filter((each) => each.name.replace(/(\[\])*$/, "") === name) ?? [];
  const changes = olds.map((old) => {
    const field = now.inside?.find((each) => each.name === old.name && each.as === old.as);
    return (
      field &&
      fieldChanges(old.of, field.of).map((change) => {
        const path = change.name === "" ? old.name : `${old.name}.${change.name}`;
        return { ...change, name: path, field: name };
      })
    );
  });
  const seen = changes.filter((each) => each !== undefined);
  return seen.length === 0 || seen.length < changes.length ? undefined : seen.flat();
}

const words = { "": "was required", "=": "had a default", "?": "was optional" };

type Flag = keyof typeof words;

function fieldsOf(fields: Fields["fields"] = []) {
  return new Map(
    fields.map((text) => {
      const [, hashes = "", flag = "", name = ""] = /^([^?= ]*)([?=]?) ([^]*)$/.exec(text) ?? [];
      const [hash = "", ...oneOf] = hashes.split("|");
      // No other flag matches.
      return [
        name,
        { hash, oneOf: oneOf.length === 0 ? [hash] : oneOf, flag: flag as Flag },
      ] as const;
    }),
  );
}

/** Compares the fields, or if these are the same the wholes; undefined if one is not seen. */
function schemaChanges(before: Fields = {}, now: Fields = {}): FieldChange[] | undefined {
  const isUnseen = [before, now].some(({ fields, oneOf }) => !fields && !oneOf);
  if (isUnseen) return undefined;
  const areFields = before.fields !== undefined && now.fields !== undefined;
  const found = areFields ? fieldChanges(before, now) : [];
  if (areFields && now.oneOf === undefined) return found;
  if (found.length > 0) return [...found, refined];
  const [was, is] = [before.oneOf ?? [], now.oneOf ?? []];
  const gone = was.length === 0 ? is : was.filter((each) => !is.includes(each));
  if (gone.length === 0) return [];
  const cases = gone.length < was.length ? ` in ${gone.length} of ${was.length} cases` : "";
  return [{ ...ofWhole, is: "retyped", what: `has another schema${cases}` }];
}

const ofWhole = { name: "", field: "", isMissed: false };

/** The whole has changed with its fields: whether the function that refines it has is not seen. */
const refined: FieldChange = {
  ...ofWhole,
  is: "refined",
  what: "is refined by a function, which check does not compare",
};

/** Says whether schemas have been compared as wholes: what they differ in is not seen. */
const isWhole = ([first]: readonly FieldChange[]): boolean =>
  first?.name === "" && first.is === "retyped";

/** When a value of the old schema is refused, if it is not always. */
const refusedIf: ReadonlyMap<FieldChange["is"], string> = new Map([
  ["refused", ""],
  ["retyped", ", unless their value fits"],
  ["closed", " if theirs has any"],
  ["refined", " if it refuses theirs"],
]);

const isRefused = (is: FieldChange["is"]): boolean => refusedIf.has(is);

const pathOf = (root: string, name: string): string => (name === "" ? root : `${root}.${name}`);

/** Says whether something is computed for a limit, as each action comes: the plan tells its hash. */
const isKeyed = (given: string): boolean => !/^(=.*)?$/.test(given);

/** Compares inputs: runs that have begun keep theirs, and others are parsed when they begin. */
export function inputChanges(before: WorkflowThen, now: WorkflowThen): Change[] {
  if (before.input === now.input) return [];
  const workflow = now.name;
  const found = schemaChanges(before.fields, now.fields);
  const isUnion = (before.fields?.oneOf?.length ?? 0) > 1;
  const isUnsure = found === undefined || (isWhole(found) && !isUnion);
  if (isUnsure || found.length === 0) {
    const unseen = isUnsure
      ? ", and fails with invalidInput if it does not fit; check cannot see all of its fields"
      : "";
    const message = `another input: runs that have begun keep theirs, and a run that has not is parsed by the new schema when it begins${unseen}`;
    return [{ workflow, compatibility: "safe", message }];
  }
  return found.map(({ name, field, is, what, isMissed }): Change => {
    const changed = `${pathOf("input", name)} ${what}`;
    const sure = now.nodes.filter((node) => readsOfField(node, field) === "sure");
    const others = now.nodes.filter((node) => readsOfField(node, field) === "perhaps");
    const hasKeys = Object.values(now.limits ?? {}).some(isKeyed);
    const hasReaders = hasKeys || sure.length + others.length > 0;
    const told = [
      ...(sure.length > 0 ? [`; ${listOf(sure)} it`] : []),
      ...(others.length > 0 ? [`; ${listOf(others)} the input`] : []),
      ...(hasKeys ? ["; the keys of its limits read the input"] : []),
    ].join("");
    const begun = isMissed
      ? "in runs that have begun it may be undefined"
      : "runs that have begun keep what they have";
    if (!isRefused(is)) {
      const filled = is === "filled" ? ", though it has a default" : "";
      // What was given is kept and parsed again where the parsed value does not parse to itself.
      const again =
        is === "unfilled"
          ? ", but fails with invalidInput if the field was not given beside one that is transformed"
          : "";
      const message = `${changed}: ${begun}${filled}, and a run that has not begins with the new schema${again}${told}`;
      const hint = isMissed && hasReaders ? "let them work without it" : undefined;
      return { workflow, compatibility: "safe", message, ...(hint && { hint }) };
    }
    const unless = refusedIf.get(is) ?? "";
    const message = `${changed}: runs that have not begun fail with invalidInput${unless}, and ${begun}${is === "closed" || is === "refined" ? "" : told}`;
    if (is === "refined") return { workflow, compatibility: "safe", message };
    const hint =
      name === "" || is === "closed"
        ? "take what was taken until all runs that were started with it have begun"
        : what === "is removed"
          ? "keep it as an optional field until all runs that were started with it have begun"
          : "give it a default or make it optional, or take a new name, until all runs that were started before have begun";
    return { workflow, compatibility: "stops", message, hint };
  });
}

/** Compares the events and loop states of nodes that are in both plans: no run stops at these. */
export function takenChanges({ before, now: line }: LinePair, taken: ReadonlySet<string>) {
  return line.flatMap((now) => {
    const old = before.find(({ stored }) => stored === now.stored);
    if (old?.node.takes === undefined || now.node.takes === undefined)
      return old === undefined ? [] : unseenEvents(old.node, now);
    const there = now.node.takes;
    const readers = isLoop(now.node)
      ? [now.node]
      : line.map(({ node }) => node).filter((node) => readsOf(node).has(now.node.name));
    return old.node.takes.flatMap((then) => {
      const same = there.find(({ name }) => name === then.name);
      if (same === undefined) {
        if (isLoop(now.node)) return [];
        const what = taken.has(then.name)
          ? "and one that is sent goes to another node"
          : "and whoever sends it gets an error";
        const message = `the event ${quote(then.name)} is not taken here any more: runs wait for ${there.map(({ name }) => quote(name)).join(" or ")}, ${what}`;
        const hint = `keep it in \`anyOf\` until nobody sends it any more`;
        return [{ node: now.path, compatibility: "safe", message, hint } as const];
      }
      // An earlier compiler may have told less of the same schema.
      const changes = old.node.hash === now.node.hash ? [] : (schemaChanges(then, same) ?? []);
      return changes.map((change) => {
        const told = readers.length === 0 ? "" : `; ${listOf(readers)} it`;
        const what = `${pathOf(then.name, change.name)} ${change.what}`;
        const message = isLoop(now.node)
          ? `${what}: an iteration that has begun keeps the state that it has${told}`
          : `${what}: runs that are past it keep what they took${refusal(change)}${told}`;
        return { node: now.path, compatibility: "safe", message } as const;
      });
    });
  });
}

/** What an event takes is not seen if its `anyOf` is computed, or comes from another file. */
function unseenEvents(old: NodeThen, { node, path }: LinePair["now"][number]) {
  if (!takesEvents(node) || !takesEvents(old) || old.hash === node.hash) return [];
  const message =
    "check cannot see all of its events: whoever sends one that is gone, or that does not fit any more, gets an error, and a run that has kept one that does not fit fails here";
  return [{ node: path, compatibility: "safe", message } as const];
}

const refusal = ({ is }: FieldChange): string =>
  isRefused(is) || is === "unfilled"
    ? ", and unless it fits, whoever sends it as before gets an error, and a run that has kept one fails here"
    : "";

const listOf = (nodes: readonly NodeThen[]): string =>
  `${nodes.map(({ name }) => quote(name)).join(" and ")} ${nodes.length === 1 ? "reads" : "read"}`;

/** The names of all events that a workflow takes. */
export const eventsOf = ({ nodes }: WorkflowThen): ReadonlySet<string> =>
  new Set(
    allNodes(nodes)
      .flatMap((node) => (isLoop(node) ? [] : (node.takes ?? [])))
      .map(({ name }) => name),
  );
