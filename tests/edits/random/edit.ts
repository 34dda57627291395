import type { Choice } from "./choice.js";
import { isKeyed, type Kind, type Maker, type Node } from "./nodes.js";

export interface Edit {
  readonly what: string;
  /** What the options of the workflow say of names. */
  readonly renamed: Readonly<Record<string, string>>;
  /** By the names of nodes, those that they have now. */
  readonly names: Readonly<Record<string, string>>;
}

interface Place {
  readonly line: Node[];
  readonly node: Node;
  /** The names that it stands in. */
  readonly inside: string;
  /** Names that are visible before the line, by other nodes. */
  readonly around: readonly string[];
  readonly depth: number;
}

function placesIn(line: Node[], inside = "", around: readonly string[] = [], depth = 2): Place[] {
  const visible = [...around];
  return line.flatMap((node) => {
    const own: Place = { line, node, inside, around: [...around], depth };
    const path = inside === "" ? node.name : `${inside}.${node.name}`;
    const inner = Object.entries(node.bodies).flatMap(([key, body]) =>
      placesIn(body, isKeyed(node.kind) ? `${path}.${key}` : path, [...visible], depth - 1),
    );
    visible.push(node.name);
    return [own, ...inner];
  });
}

const pathOf = ({ node, inside }: Place): string =>
  inside === "" ? node.name : `${inside}.${node.name}`;

/** Makes one random edit to nodes, in place. */
export function edit(line: Node[], maker: Maker): Edit {
  const { choice } = maker;
  for (;;) {
    const made = choice.oneOf(EDITS)(line, maker, choice);
    if (made === undefined) continue;
    keepReads(line, []);
    return { renamed: {}, names: {}, ...made };
  }
}

/** Takes away what reads names that are not visible any more. */
function keepReads(line: readonly Node[], around: readonly string[]): void {
  const visible = [...around];
  for (const node of line) {
    node.reads = [...new Set(node.reads)].filter((read) => visible.includes(read));
    for (const body of Object.values(node.bodies)) keepReads(body, visible);
    if (node.kind !== "sleep" && node.kind !== "end") visible.push(node.name);
  }
}

type Made = { what: string; renamed?: Record<string, string>; names?: Record<string, string> };
type Try = (line: Node[], maker: Maker, choice: Choice) => Made | undefined;

/** One of the nodes that suit. */
function someNode(line: Node[], choice: Choice, suits: (place: Place) => boolean = () => true) {
  const found = placesIn(line).filter((place) => place.node.kind !== "end" && suits(place));
  return found.length === 0 ? undefined : choice.oneOf(found);
}
const hasKeys = ({ node }: Place): boolean => isKeyed(node.kind);
const kept = (line: readonly Node[]): number =>
  line.at(-1)?.kind === "end" ? line.length - 1 : line.length;

function readLater(line: Node[], name: string, at: number, choice: Choice): void {
  for (const { node } of placesIn(line.slice(at + 1)))
    if (choice.chance(0.4)) node.reads.push(name);
}

const remove: Try = (line, _maker, choice) => {
  const place = someNode(line, choice, ({ line }) => kept(line) > 1);
  if (place === undefined) return undefined;
  place.line.splice(place.line.indexOf(place.node), 1);
  return { what: `${pathOf(place)} removed` };
};

const rename =
  (isSaid: boolean): Try =>
  (line, maker, choice) => {
    const place = someNode(line, choice);
    if (place === undefined) return undefined;
    const { node } = place;
    const [was, path] = [node.name, pathOf(place)];
    node.name = maker.name(node.kind);
    for (const { node } of placesIn(line))
      node.reads = node.reads.map((read) => (read === was ? place.node.name : read));
    const renamed: Record<string, string> = isSaid ? { [path]: pathOf(place) } : {};
    return {
      what: `${path} renamed to ${node.name}${isSaid ? "" : ", and not said"}`,
      renamed,
      names: isSaid ? { [was]: node.name } : {},
    };
  };

const move: Try = (line, _maker, choice) => {
  const place = someNode(line, choice, ({ line }) => kept(line) > 1);
  if (place === undefined) return undefined;
  const { line: own, node } = place;
  const from = own.indexOf(node);
  own.splice(from, 1);
  const to = choice.upTo(kept(own) + 1);
  own.splice(to, 0, node);
  return from === to ? undefined : { what: `${pathOf(place)} moved from ${from} to ${to}` };
};

const insert: Try = (line, maker, choice) => {
  const place = someNode(line, choice);
  if (place === undefined) return undefined;
  const at = choice.upTo(kept(place.line) + 1);
  const added = maker.node(place.depth, place.around);
  place.line.splice(at, 0, added);
  readLater(place.line, added.name, at, choice);
  return { what: `${pathOf({ ...place, node: added })} added at ${at}` };
};

const hoist: Try = (line, _maker, choice) => {
  const place = someNode(line, choice, ({ inside, line }) => inside !== "" && kept(line) > 1);
  if (place === undefined) return undefined;
  place.line.splice(place.line.indexOf(place.node), 1);
  line.splice(choice.upTo(line.length + 1), 0, place.node);
  return { what: `${pathOf(place)} moved out of ${place.inside}` };
};

const recode: Try = (line, _maker, choice) => {
  const place = someNode(
    line,
    choice,
    ({ node }) => node.kind === "step" || node.kind === "action",
  );
  if (place === undefined) return undefined;
  place.node.code += 1;
  return { what: `${pathOf(place)} has other code` };
};

const delay: Try = (line, _maker, choice) => {
  const suits = ({ node }: Place) => node.kind === "sleep" || node.kind === "event";
  const place = someNode(line, choice, suits);
  if (place === undefined) return undefined;
  place.node.hours += 1;
  return { what: `${pathOf(place)} waits longer` };
};

const rekind: Try = (line, maker, choice) => {
  const place = someNode(line, choice);
  if (place === undefined) return undefined;
  const { node } = place;
  const kinds: Kind[] = [
    "step",
    "action",
    "sleep",
    "event",
    "child",
    "parent",
    "branch",
    "match",
    "loop",
    "parallel",
    "each",
    "race",
  ];
  const made = maker.node(
    1,
    place.around,
    kinds.filter((kind) => kind !== node.kind),
  );
  const was = node.kind;
  // What stands in it stays there, where it may.
  const bodies =
    isKeyed(was) === isKeyed(made.kind) && choice.chance(0.6) && Object.keys(node.bodies).length > 0
      ? node.bodies
      : made.bodies;
  Object.assign(node, made, { name: node.name, reads: node.reads });
  node.bodies = Object.keys(made.bodies).length === 0 ? {} : bodies;
  if (node.kind !== "match" && node.bodies["default"]) delete node.bodies["default"];
  if (Object.keys(node.bodies).length === 0 && isKeyed(node.kind)) node.bodies = made.bodies;
  return { what: `${pathOf(place)} is a ${node.kind}, was a ${was}` };
};

const addCase: Try = (line, maker, choice) => {
  const place = someNode(line, choice, hasKeys);
  if (place === undefined) return undefined;
  const key = choice.chance(0.5) ? "aa" : "zz";
  if (place.node.bodies[key]) return undefined;
  const body = maker.line(1 + choice.upTo(2), 0, place.around);
  place.node.bodies = choice.chance(0.5)
    ? { [key]: body, ...place.node.bodies }
    : { ...place.node.bodies, [key]: body };
  readLater(place.line, place.node.name, place.line.indexOf(place.node), choice);
  return { what: `${pathOf(place)}.${key} added` };
};

const removeCase: Try = (line, _maker, choice) => {
  const place = someNode(line, choice, ({ node }) => Object.keys(node.bodies).length > 1);
  if (place === undefined) return undefined;
  const key = choice.oneOf(Object.keys(place.node.bodies));
  const { [key]: _, ...rest } = place.node.bodies;
  if (Object.keys(rest).join() === "default") return undefined;
  place.node.bodies = rest;
  return { what: `${pathOf(place)}.${key} removed` };
};

const renameCase: Try = (line, _maker, choice) => {
  const place = someNode(line, choice, hasKeys);
  if (place === undefined) return undefined;
  const { node } = place;
  const key = choice.oneOf(Object.keys(node.bodies).filter((each) => each !== "default"));
  if (node.bodies["renamed"]) return undefined;
  node.bodies = Object.fromEntries(
    Object.entries(node.bodies).map(([each, body]) => [each === key ? "renamed" : each, body]),
  );
  const path = pathOf(place);
  return {
    what: `${path}.${key} renamed`,
    renamed: { [`${path}.${key}`]: `${path}.renamed` },
  };
};

const reorderCases: Try = (line, _maker, choice) => {
  const place = someNode(line, choice, ({ node }) => Object.keys(node.bodies).length > 1);
  if (place === undefined) return undefined;
  const rest = Object.entries(place.node.bodies).filter(([key]) => key !== "default");
  const { default: other } = place.node.bodies;
  place.node.bodies = Object.fromEntries([
    ...rest.reverse(),
    ...(other ? [["default", other] as const] : []),
  ]);
  return { what: `the cases of ${pathOf(place)} in another order` };
};

const OPTIONS: Readonly<Partial<Record<Kind, readonly [string, string][]>>> = {
  race: [
    ["first", '"any"'],
    ["compensateLosers", "false"],
  ],
  parallel: [
    ["tolerate", '"all"'],
    ["concurrency", "1"],
  ],
  each: [
    ["tolerate", '"all"'],
    ["concurrency", "1"],
    ["reduce", "{ initial: 0, step: (sum: number) => sum + 1 }"],
  ],
};
const option: Try = (line, _maker, choice) => {
  const place = someNode(line, choice, ({ node }) => OPTIONS[node.kind] !== undefined);
  if (place === undefined) return undefined;
  const { node } = place;
  const [name, value] = choice.oneOf(OPTIONS[node.kind] ?? []);
  const { [name]: was, ...rest } = node.options;
  node.options = was === undefined ? { ...rest, [name]: value } : rest;
  return { what: `${pathOf(place)} has ${was === undefined ? "a" : "no"} ${name}` };
};

const undo: Try = (line, _maker, choice) => {
  const suits = ({ node }: Place) => node.kind === "step" || node.kind === "action";
  const place = someNode(line, choice, suits);
  if (place === undefined) return undefined;
  place.node.undone = place.node.undone !== true;
  return { what: `${pathOf(place)} is ${place.node.undone ? "undone now" : "not undone now"}` };
};

const end: Try = (line, maker, choice) => {
  const parents = placesIn(line).filter(
    ({ node }) =>
      Object.keys(node.bodies).length > 1 || ["parallel", "each", "race"].includes(node.kind),
  );
  if (parents.length === 0) return undefined;
  const place = choice.oneOf(parents);
  const { bodies } = place.node;
  const key = choice.oneOf(Object.keys(bodies));
  const body = bodies[key]!;
  const path = `${pathOf(place)}.${key}`;
  if (body.at(-1)?.kind === "end") {
    body.pop();
    return { what: `the end of ${path} removed` };
  }
  const others = Object.entries(bodies).filter(([each]) => each !== key);
  const isChosen = place.node.kind === "branch" || place.node.kind === "match";
  if (isChosen && others.every(([, other]) => other.at(-1)?.kind === "end")) return undefined;
  body.push(maker.end());
  return { what: `an end added to ${path}` };
};

const EDITS: readonly Try[] = [
  remove,
  remove,
  rename(true),
  rename(true),
  rename(false),
  move,
  move,
  insert,
  insert,
  hoist,
  recode,
  delay,
  rekind,
  rekind,
  addCase,
  addCase,
  removeCase,
  removeCase,
  renameCase,
  renameCase,
  reorderCases,
  option,
  option,
  undo,
  end,
  end,
];
