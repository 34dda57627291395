import { diagnostic, type Diagnostic, type Place } from "../diagnostics/diagnostic.js";
import { moduleFileAnywhere, modulePaths, type ReadModule } from "./module-file.js";

export interface ModuleEdge {
  readonly module: string;
  readonly reads: readonly string[];
  readonly place: Place;
}

export interface ModuleFacts {
  readonly edges: readonly ModuleEdge[];
  /** The functions of the file, which are there before it has run. */
  readonly functions: readonly string[];
}

export interface CycleOptions {
  readonly output: string;
  readonly workflows: readonly { readonly name: string; readonly file: string }[];
  readonly read: ReadModule;
  readonly factsOf: (file: string, text: string) => Promise<ModuleFacts>;
}

/** `isNeeded` if the other module must be loaded before. Those of generated files have no place. */
interface Edge {
  readonly to: string;
  readonly isNeeded: boolean;
  readonly place?: Place;
}

type Graph = Map<string, Edge[]>;

/** Circles of imports in which a module is read while it loads, before it has run. */
export async function importCycles(
  definitions: ReadonlyMap<string, ModuleFacts>,
  options: CycleOptions,
): Promise<Diagnostic[]> {
  const graph = await graphOf(definitions, options);
  const found = new Map<string, Diagnostic>();
  const circles = new Set<string>();
  const imported = new Set([...graph.values()].flatMap((edges) => edges.map(({ to }) => to)));
  for (const from of [...graph.keys()].filter((file) => imported.has(file)).sort()) {
    for (const edge of graph.get(from) ?? []) {
      const path = edge.isNeeded ? pathBetween(edge.to, from, graph) : undefined;
      if (path === undefined) continue;
      const [circle, place] = fromDefinition([from, ...path], graph, definitions);
      const isOurs = circle.some((file) => definitions.has(file) || isIn(options.output, file));
      const key = circle.toSorted().join();
      if (place === undefined || !isOurs || found.has(place.file) || circles.has(key)) continue;
      circles.add(key);
      found.set(place.file, cycleOf(circle, place, options.output));
    }
  }
  return [...found.values()];
}

function cycleOf(circle: readonly string[], place: Place, output: string): Diagnostic {
  const [first = ""] = circle;
  const text = [...circle, first].join(" -> ");
  const message = `this import closes a circle, so that a module is read before it has run: ${text}`;
  const hint = circle.some((file) => isIn(output, file))
    ? "a definition cannot need generated code: move what does into a function of another file, and point a step at that: `mutation: internal.file.name, args: …`"
    : 'move what both need into a file that imports neither, or read the other one only inside a function; `childNamed("name", input)` starts a workflow without importing it';
  return diagnostic("importCycle", place, message, hint);
}

/** The files that definitions import, at whatever distance, with the generated ones between. */
async function graphOf(
  definitions: ReadonlyMap<string, ModuleFacts>,
  { output, workflows, read, factsOf }: CycleOptions,
): Promise<Map<string, Edge[]>> {
  const generated = new Map(workflows.map(({ name, file }) => [`${output}/${name}.ts`, file]));
  const all = [...generated.keys()].map(needed);
  const graph: Graph = new Map(["index", "workflows"].map((list) => [`${output}/${list}.ts`, all]));
  for (const [file, definition] of generated) graph.set(file, [needed(definition)]);
  const seen = new Map(definitions);
  const pending: { from: string; to: string; edge: ModuleEdge }[] = [];
  for (const [file, facts] of seen) {
    for (const edge of facts.edges) {
      const paths = modulePaths(file, edge.module, read);
      const inOutput = paths
        .flatMap((path) => [`${path}/index.ts`, `${path}.ts`])
        .find((path) => graph.has(path) && isIn(output, path));
      const found =
        inOutput === undefined ? moduleFileAnywhere(file, edge.module, read, paths) : undefined;
      const to = inOutput ?? found?.file;
      if (to === undefined) continue;
      pending.push({ from: file, to, edge });
      if (found !== undefined && !seen.has(to)) seen.set(to, await factsOf(to, found.text));
    }
  }
  for (const { from, to, edge } of pending) {
    const isNeeded = edge.reads.some((name) => seen.get(to)?.functions.includes(name) !== true);
    const place = { ...edge.place, file: from };
    graph.set(from, [...(graph.get(from) ?? []), { to, isNeeded, place }]);
  }
  return graph;
}

const needed = (to: string): Edge => ({ to, isNeeded: true });

const isIn = (folder: string, file: string): boolean => file.startsWith(`${folder}/`);

function pathBetween(from: string, to: string, graph: Graph): string[] | undefined {
  const before = new Map<string, string | undefined>([[from, undefined]]);
  for (const file of before.keys()) {
    if (file === to) {
      const path: string[] = [];
      for (let at: string | undefined = file; at !== undefined; at = before.get(at))
        path.unshift(at);
      return path;
    }
    for (const edge of graph.get(file) ?? []) if (!before.has(edge.to)) before.set(edge.to, file);
  }
  return undefined;
}

/** A circle turned to begin with a definition that imports the next one; and that import. */
function fromDefinition(
  closed: readonly string[],
  graph: Graph,
  definitions: ReadonlyMap<string, ModuleFacts>,
): [circle: string[], place: Place | undefined] {
  const circle = closed.slice(0, -1);
  const turned = circle.map((_file, at) => [...circle.slice(at), ...circle.slice(0, at)]);
  const placeOf = ([from = "", to = from]: readonly string[]) =>
    graph.get(from)?.find((edge) => edge.to === to)?.place;
  const written = turned.filter((each) => placeOf(each) !== undefined);
  const first = written.find(([file = ""]) => definitions.has(file)) ?? written[0] ?? circle;
  return [first, placeOf(first)];
}
