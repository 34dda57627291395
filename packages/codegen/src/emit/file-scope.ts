import { allNodes, Flow, type Following } from "../plan/flow.js";
import { capitalized, generatedFunctions, stageIdentifier, stagesOf } from "../plan/functions.js";
import { leftFunctions } from "../plan/leftovers.js";
import { definitionModule, moduleIn } from "../plan/paths.js";
import type { BodyPlan, Leftover, NodePlan, StagePlan, WorkflowPlan } from "../plan/schema.js";
import { importsFrom, type ImportSpecifier } from "./imports.js";
import type { EmittedInput } from "./input.js";
import { FileNames } from "./names.js";
import type { Doc } from "./print/doc.js";
import type { Setting } from "./setting.js";
import { arrivalName, type StageFile } from "./stages/lowering.js";

/** Parameters of generated functions, which would hide a name of the file. */
const parameters = ["run", "ctx", "scope"];

/** The names of one workflow's generated file, and what it imports; both grow while its parts are written. */
export class FileScope implements StageFile {
  readonly names: FileNames;
  /** Those whose arrivals have no names yet. */
  readonly #unnamed: StagePlan[];
  readonly #flow: Flow;
  /** By path. */
  readonly #nodes: ReadonlyMap<string, NodePlan>;
  readonly #runtime = new Map<string, string>();
  readonly #references = new Map<string, string>();
  #usesAll = false;
  #usesNodes = false;

  constructor(
    readonly workflow: WorkflowPlan,
    left: Pick<Leftover, "stages">,
    readonly setting: Setting,
  ) {
    const functions = generatedFunctions(workflow).map(({ name }) => name);
    const leftNames = leftFunctions(workflow, left).map(({ name }) => name);
    const exported = [...functions, ...leftNames];
    const globals = workflow.input.kind === "copy" ? workflow.input.globals : [];
    this.names = new FileNames([
      "reference",
      "resume",
      this.interfaceName,
      ...exported,
      ...globals,
      ...parameters,
    ]);
    this.#unnamed = stagesOf(workflow);
    this.#flow = new Flow(workflow.nodes);
    this.#nodes = new Map(allNodes(workflow.nodes).map((node) => [node.path, node]));
  }

  get source(): string {
    return this.workflow.file;
  }

  get interfaceName(): string {
    return capitalized(this.workflow.name);
  }

  runtime(name: string): string {
    const local = this.names.of(`runtime:${name}`, name);
    this.#runtime.set(name, local);
    return local;
  }

  own(): string {
    return this.names.of("own");
  }

  nodes(): string {
    this.#usesNodes = true;
    return this.names.of("nodes");
  }

  /** What takes the nodes out of the definition; undefined when nothing is said of any, as where all that a run does is to wait. */
  nodesBinding(): string | undefined {
    if (!this.#usesNodes) return undefined;
    const local = this.names.of("nodes");
    const binding = local === "nodes" ? local : `nodes: ${local}`;
    return `const { ${binding} } = ${this.names.of("definition")};`;
  }

  arrival(at: Following): string {
    // All stages before the ends: a node named "end" keeps the name that is its.
    for (const each of this.#unnamed.splice(0)) this.names.of(`to:${each.name}`, arrivalName(each));
    if (at.at === "stage") return this.names.of(`to:${at.stage.name}`);
    if (at.at === "endOfBody") return this.#afterPath(at.body.path);
    return at.at === "end"
      ? this.names.of("the end", "toEnd")
      : this.names.of("undone", "toUndone");
  }

  afterChildren(stage: StagePlan): string {
    return this.#afterPath(stage.name);
  }

  #afterPath(path: string): string {
    return this.names.of(`after:${path}`, `after${capitalized(stageIdentifier(path))}`);
  }

  reference(workflow: string): string {
    if (workflow === this.workflow.name) return "reference";
    const local = this.names.of(`reference:${workflow}`, workflow);
    this.#references.set(workflow, local);
    return local;
  }

  allReferences(): string {
    this.#usesAll = true;
    return `Object.values(${this.names.of("workflows")})`;
  }

  after(stage: StagePlan): Following {
    return this.#flow.after(stage);
  }

  bodies(stage: StagePlan): readonly BodyPlan[] {
    return this.#nodeOf(stage)?.bodies ?? [];
  }

  stages(stage: StagePlan): readonly StagePlan[] {
    return this.#nodeOf(stage)?.stages ?? [];
  }

  #nodeOf(stage: StagePlan): NodePlan | undefined {
    return this.#nodes.get(stage.node);
  }

  /** The import declarations for all that was asked for; with an input, for what the file of a definition has besides. */
  imports(input?: EmittedInput): Doc[] {
    const modules = new Map<string, ImportSpecifier[]>();
    const add = (module: string, specifier: ImportSpecifier) => {
      modules.set(module, [...(modules.get(module) ?? []), specifier]);
    };
    const sorted = [...this.#runtime].sort(([a], [b]) => (a < b ? -1 : 1));
    // Names that begin with a capital are the types.
    const isType = (name: string) => /^[A-Z]/.test(name);
    for (const [imported, local] of sorted.toSorted(
      ([a], [b]) => Number(isType(a)) - Number(isType(b)),
    )) {
      add("@stepwise/workflow/runtime", { imported, local, typeOnly: isType(imported) });
    }
    const inputs = (input?.imports ?? []).toSorted((a, b) =>
      a.name.module < b.name.module ? -1 : a.name.module > b.name.module ? 1 : 0,
    );
    const isRelative = (module: string) => module.startsWith(".");
    const addInputs = (relative: boolean) => {
      for (const { name, local } of inputs) {
        if (isRelative(name.module) === relative)
          add(name.module, { imported: name.imported, local, typeOnly: name.typeOnly });
      }
    };
    addInputs(false);
    add("../_generated/api", { imported: "components", local: this.names.of("components") });
    if (input !== undefined)
      add(definitionModule(this.source), {
        imported: this.workflow.name,
        local: this.names.of("definition"),
      });
    addInputs(true);
    for (const [workflow, local] of [...this.#references].sort(([a], [b]) => (a < b ? -1 : 1))) {
      add(`./${workflow}`, { imported: "reference", local });
    }
    if (this.#usesAll) add("./workflows", { imported: "*", local: this.names.of("workflows") });
    return [...modules].flatMap(([module, specifiers]) =>
      importsFrom(moduleIn(this.setting.output, module), specifiers),
    );
  }
}
