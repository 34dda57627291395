import { diagnostic, type Diagnostic, type Place } from "../diagnostics/diagnostic.js";
import { moduleFileAnywhere, modulePaths, type ReadModule } from "./module-file.js";

/** A module that a file loads. `isNeeded` if it uses a value of it while it is loaded itself. */
export interface ModuleEdge {
  readonly module: string;
  readonly isNeeded: boolean;
  readonly place: Place;
}

export interface CycleOptions {
  readonly output: string;
  readonly workflows: readonly { readonly name: string; readonly file: string }[];
  readonly read: ReadModule;
  readonly edgesOf: (file: string, text: string) => Promise<readonly ModuleEdge[]>;
}

/** From one file to another. Those of generated files have no place. */
interface Edge extends Pick<ModuleEdge, "isNeeded"> {
  readonly to: string;
  readonly place?: Place;
}

type Graph = Map<string, Edge[]>;
type Definitions = ReadonlyMap<string, readonly ModuleEdge[]>;

/**
 * Circles of imports, by the graph of imports alone. One of definitions, or through generated code,
 * is an error; one through other files is a warning if an import of it is needed while loading.
 */
export async function importCycles(
  definitions: Definitions,
  options: CycleOptions,
): Promise<Diagnostic[]> {
  const graph = onCircles(await graphOf(definitions, options));
  const found = new Map<string, Diagnostic>();
  const circles = new Set<string>();
  const isDefinition = (file: string) => definitions.has(file);
  for (const from of [...graph.keys()].sort())
    for (const { to, isNeeded } of graph.get(from) ?? []) {
      const ownWay = isDefinition(from) ? pathBetween(to, from, graph, isDefinition) : undefined;
      const path = ownWay ?? (isNeeded ? pathBetween(to, from, graph) : undefined);
      if (path === undefined) continue;
      const [circle, place] = fromDefinition([from, ...path], graph, definitions);
      const key = circle.toSorted().join();
      if (place === undefined || !circle.some(isDefinition)) continue;
      if (found.has(place.file) || circles.has(key)) continue;
      circles.add(key);
      found.set(place.file, cycleOf(circle, place, isDefinition, options.output));
    }
  return [...found.values()];
}

function cycleOf(
  circle: readonly string[],
  place: Place,
  isDefinition: (file: string) => boolean,
  output: string,
): Diagnostic {
  const [first = ""] = circle;
  const text = [...circle, first].join(" -> ");
  if (circle.some((file) => isIn(output, file))) {
    const message = `this definition imports generated code, which imports the definition: ${text}`;
    const hint =
      "move what needs it into a function of another file, and point a step at that: `mutation: internal.file.name, args: …`";
    return diagnostic("importCycle", place, message, hint);
  }
  const apart = "move what both need into a file that imports neither";
  if (circle.every(isDefinition)) {
    const message = `these definitions import each other: ${text}`;
    const hint = `${apart}; \`childNamed("name", input)\` starts a workflow without importing it`;
    return diagnostic("importCycle", place, message, hint);
  }
  const message = `this import is part of a circle, and a value is needed before its file may have run: ${text}`;
  const hint = `${apart}, or use the value only inside functions that run later`;
  return diagnostic("neededInCycle", place, message, hint);
}

/** The files that definitions import, at whatever distance, with the generated ones between. */
async function graphOf(
  definitions: Definitions,
  { output, workflows, read, edgesOf }: CycleOptions,
): Promise<Graph> {
  const generated = new Map(workflows.map(({ name, file }) => [`${output}/${name}.ts`, file]));
  const all = [...generated.keys()].map(needed);
  const graph: Graph = new Map(["index", "workflows"].map((list) => [`${output}/${list}.ts`, all]));
  for (const [file, definition] of generated) graph.set(file, [needed(definition)]);
  const seen = new Map(definitions);
  for (const [from, edges] of seen)
    for (const { module, isNeeded, place } of edges) {
      const paths = modulePaths(from, module, read);
      const inOutput = paths
        .flatMap((path) => [`${path}/index.ts`, `${path}.ts`])
        .find((path) => graph.has(path) && isIn(output, path));
      const found =
        inOutput === undefined ? moduleFileAnywhere(from, module, read, paths) : undefined;
      const to = inOutput ?? found?.file;
      if (to === undefined) continue;
      const edge = { to, isNeeded, place: { ...place, file: from } };
      graph.set(from, [...(graph.get(from) ?? []), edge]);
      if (found !== undefined && !seen.has(to)) seen.set(to, await edgesOf(to, found.text));
    }
  return graph;
}

const needed = (to: string): Edge => ({ to, isNeeded: true });

const isIn = (folder: string, file: string): boolean => file.startsWith(`${folder}/`);

/**
 * Returns what is left of a graph without the files that import nothing, and then those, and so on.
 */
function onCircles(graph: Graph): Graph {
  const users = new Map<string, string[]>();
  const left = new Map<string, number>();
  for (const [from, edges] of graph) {
    left.set(from, edges.length);
    for (const { to } of edges) {
      users.set(to, [...(users.get(to) ?? []), from]);
      if (!graph.has(to)) left.set(to, 0);
    }
  }
  const gone = [...left.keys()].filter((file) => left.get(file) === 0);
  for (const file of gone)
    for (const user of users.get(file) ?? []) {
      const count = (left.get(user) ?? 0) - 1;
      left.set(user, count);
      if (count === 0) gone.push(user);
    }
  const without = new Set(gone);
  return new Map(
    [...graph]
      .filter(([file]) => !without.has(file))
      .map(([file, edges]) => [file, edges.filter(({ to }) => !without.has(to))]),
  );
}

function pathBetween(
  from: string,
  to: string,
  graph: Graph,
  isWay: (file: string) => boolean = () => true,
): string[] | undefined {
  const before = new Map<string, string | undefined>(isWay(from) ? [[from, undefined]] : []);
  for (const file of before.keys()) {
    if (file === to) {
      const path: string[] = [];
      for (let at: string | undefined = file; at !== undefined; at = before.get(at))
        path.unshift(at);
      return path;
    }
    for (const { to: next } of graph.get(file) ?? [])
      if (!before.has(next) && isWay(next)) before.set(next, file);
  }
  return undefined;
}

/** A circle turned to begin with a definition that imports the next one; and that import. */
function fromDefinition(
  closed: readonly string[],
  graph: Graph,
  definitions: Definitions,
): [circle: string[], place: Place | undefined] {
  const circle = closed.slice(0, -1);
  const turned = circle.map((_file, at) => [...circle.slice(at), ...circle.slice(0, at)]);
  const placeOf = ([from = "", to = from]: readonly string[]) =>
    graph.get(from)?.find((edge) => edge.to === to)?.place;
  const written = turned.filter((each) => placeOf(each) !== undefined);
  const first = written.find(([file = ""]) => definitions.has(file)) ?? written[0] ?? circle;
  return [first, placeOf(first)];
}
