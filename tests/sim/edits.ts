/* What edits of a workflow are made of. */

/** The nodes of a workflow, as they are written, by name. */
export type Nodes = Readonly<Record<string, string>>;

/** What a version of one workflow, and of its child, is made of. */
export interface Version {
  readonly nodes: Nodes;
  readonly kid: string;
  readonly options?: string;
  /** A field more of the input. */
  readonly more?: string;
  /** Which of the two has another name. */
  readonly anew?: "top" | "kid";
}

/** A workflow, and what may become of it. `from`: what is otherwise before an edit already. */
export interface Family {
  readonly before: Version;
  readonly edits: Readonly<Record<string, Partial<Version> & { readonly from?: Partial<Version> }>>;
}

const act = (site: string, seen: string) =>
  `action: (ctx, ${seen}, info) => act(ctx, info, "${site}", ${seen}`;

/** An action, at a place that no other handler has. @param plan how it goes, as it is written. */
export const acting = (site: string, plan = "{}", seen = "{ input }"): string =>
  `${act(site, seen)}, ${plan})`;

/** A mutation, which writes down what it is given. */
export const changing = (site: string, seen = "{ input }"): string =>
  `mutation: (ctx, ${seen}, info) => change(ctx, info, "${site}", ${seen})`;

/** A step that takes no time. */
export const brief = (name: string, site = name): string =>
  `.step("${name}", { ${changing(site)} })`;

/** The child, and the only one of its kind that takes its time. */
export const KID = `.sleep("rest", ({ input }) => lasts("rest", { input }) % 200_000).step("grown", { ${acting("grown", "{ ms: 200 }")} })`;

/** How the nodes of a workflow are edited. */
export function editsOf(nodes: Nodes) {
  const entries = Object.entries(nodes);
  const insert = (all: typeof entries, before: string, ...some: typeof entries): Nodes =>
    Object.fromEntries(all.flatMap((entry) => (entry[0] === before ? [...some, entry] : [entry])));
  const changed = (name: string, from: string | RegExp, to: string): Nodes => {
    const text = nodes[name]!.replaceAll(from, to);
    if (text === nodes[name]) throw new Error(`${name} does not hold ${String(from)}`);
    return { ...nodes, [name]: text };
  };
  return {
    /** What a node is written with is something else. */
    changed,
    without: (...names: string[]): Nodes =>
      Object.fromEntries(entries.filter(([name]) => !names.includes(name))),
    renamed: (name: string): Nodes => changed(name, `"${name}", `, `"${name}Anew", `),
    inserted: (before: string, text: string): Nodes => insert(entries, before, ["added", text]),
    /** In another order: one node is moved before another. */
    moved: (name: string, before: string): Nodes => {
      const rest = entries.filter(([each]) => each !== name);
      return insert(rest, before, [name, nodes[name]!]);
    },
  };
}

/** Of each place: its node is removed, or renamed, which is said. @param options the other ones */
export function placeEdits(nodes: Nodes, places: readonly string[], options = ""): Family["edits"] {
  const { without, renamed } = editsOf(nodes);
  return Object.fromEntries(
    places.flatMap((name): [string, Partial<Version>][] => [
      [`${name} removed`, { nodes: without(name) }],
      [
        `${name} renamed`,
        { nodes: renamed(name), options: `${options}, renamed: { ${name}: "${name}Anew" }` },
      ],
    ]),
  );
}
