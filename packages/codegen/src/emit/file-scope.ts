import { type Following, followings, generatedFunctions, stagesOf } from "../plan/flow.js";
import { capitalized, stageIdentifier } from "../plan/names.js";
import { copiedGlobals, copiedConsts, type SeenSchema } from "../plan/events.js";
import type {
  Expression,
  ImportedName,
  InputPlan,
  StagePlan,
  Tombstones,
  WorkflowPlan,
} from "../plan/schema.js";
import { tombstoneFunctions } from "../plan/tombstones.js";
import { definitionModule, moduleIn, usualOutput } from "../plan/paths.js";
import { sortedBy } from "../plan/sorted.js";
import { stageKind } from "../plan/stage-kinds.js";
import { exportedConst, laidOut, list, property, quoted } from "./code.js";

export interface Setting {
  readonly component: string;
  readonly output: string;
  /** The storage names of workflows that have another name now, by that. */
  readonly renamed: Readonly<Record<string, string>>;
}

interface Import {
  readonly order: string;
  readonly module: string;
  /** `*` for the whole module. */
  readonly imported: string;
  readonly local: string;
  readonly typeOnly: boolean;
}

/** Parameters of generated functions, which would hide a name of the file. */
const parameters = ["run", "ctx", "scope"];

/** The names of one generated file, and what it imports. Both grow while its parts are written. */
export class FileScope {
  readonly source: string;
  readonly #taken: Set<string>;
  readonly #locals = new Map<string, string>();
  readonly #imports = new Map<string, Import>();
  /** The stages whose arrivals have no names yet. */
  readonly #unnamed: StagePlan[];
  readonly #after: ReadonlyMap<StagePlan, Following>;

  /** @param workflow undefined if it was removed */
  constructor(
    readonly workflow: WorkflowPlan | undefined,
    removed: Pick<Tombstones, "stages">,
    readonly setting: Setting,
  ) {
    const { nodes = [], file = "", name } = workflow ?? {};
    this.source = file;
    this.#taken = new Set([
      "reference",
      "entry",
      ...(name === undefined ? [] : [capitalized(name)]),
      ...generatedFunctions({ nodes }).map((each) => each.name),
      ...tombstoneFunctions(workflow, removed).map((each) => each.name),
      ...copiedGlobals(workflow),
      ...copiedConsts(workflow),
      ...parameters,
    ]);
    this.#unnamed = stagesOf({ nodes }).filter((stage) => !isQueued(stage));
    this.#after = followings(nodes);
  }

  /** The local name for a key, always the same one. If the name is taken, it gets a `_`. */
  name(key: string, wanted: string = key): string {
    const known = this.#locals.get(key);
    if (known !== undefined) return known;
    let name = wanted;
    while (this.#taken.has(name)) name += "_";
    this.#taken.add(name);
    this.#locals.set(key, name);
    return name;
  }

  #import(order: string, module: string, imported: string, local: string, typeOnly = false) {
    this.#imports.set(`${module} ${local}`, { order, module, imported, local, typeOnly });
    return local;
  }

  /** The local name of something that the run time exports. A capital begins the name of a type. */
  runtime(name: string): string {
    const isType = /^[A-Z]/.test(name);
    const local = this.name(`runtime:${name}`, name);
    const order = `${isType ? 1 : 0}${name}`;
    return this.#import(order, "@stepwise/workflow/runtime", name, local, isType);
  }

  component(): string {
    const local = this.#import("3", "../_generated/api", "components", this.name("components"));
    return `${local}.${this.setting.component}`;
  }

  definition(): string {
    const { name = "" } = this.workflow ?? {};
    return this.#import("4", definitionModule(this.source), name, this.name("definition"));
  }

  #ofApp({ module, imported, typeOnly }: ImportedName, local: string): string {
    const order = `${module.startsWith(".") ? 5 : 2}${module}`;
    const known = this.#imports.get(`${module} ${local}`);
    return this.#import(order, module, imported, local, typeOnly && known?.typeOnly !== false);
  }

  /** The workflow's `input`, its type, and its declaration if it is a copy of the definition's. */
  input(input: InputPlan): {
    local: string;
    type: string;
    declaration?: string;
  } {
    const definition = `${this.definition()}.options.input`;
    if (input.kind === "definition") return { local: definition, type: `typeof ${definition}` };
    const local = input.kind === "import" ? this.#ofApp(input.import, this.name("input")) : "";
    if (input.kind === "import") return { local, type: `typeof ${local}` };
    const { text, consts } = this.schema(input);
    const name = this.name("input");
    if (consts.length > 0)
      return {
        local: name,
        type: `ReturnType<typeof ${name}>`,
        declaration: copiedFunction(name, consts, `${text};`),
      };
    const declaration = `// prettier-ignore\nconst ${name} = ${text};`;
    return { local: name, type: `typeof ${name}`, declaration };
  }

  /** A schema of the definition as it reads here, and the consts that it names. */
  schema(schema: SeenSchema): { text: string; consts: readonly WrittenConst[] } {
    const nameHere = (each: ImportedName) => {
      const key = `imported:${each.module} ${each.imported}`;
      return this.#ofApp(each, this.name(key, each.local));
    };
    if (schema.kind === "import") return { text: nameHere(schema.import), consts: [] };
    // The user's names come first: in the copy they read best as they were.
    const locals = new Map(schema.imports.map((each) => [each.local, nameHere(each)]));
    const written = ({ parts }: Expression): string => {
      const text = parts.map((part) => {
        if (typeof part === "string") return part;
        const name = locals.get(part.name) ?? part.name;
        return part.shorthand && name !== part.name ? `${part.name}: ${name}` : name;
      });
      return text.join("");
    };
    const consts = schema.consts.map(({ name, declaration }) => ({
      name,
      text: written(declaration),
    }));
    return { text: written(schema.expression), consts };
  }

  reference(workflow: string): string {
    if (workflow === this.workflow?.name) return "reference";
    const local = this.name(`reference:${workflow}`, workflow);
    const { renamed } = this.setting;
    const file = Object.hasOwn(renamed, workflow) ? renamed[workflow] : workflow;
    return this.#import(`6${workflow}`, `./${file}`, "reference", local);
  }

  /** The workflows that a stage may start, as a list. */
  references({ workflows }: StagePlan): string {
    if (workflows !== undefined) return list(workflows.map((name) => this.reference(name)));
    return `Object.values(${this.#import("7", "./workflows", "*", this.name("workflows"))})`;
  }

  /** The option that says where the functions are, if that is not the usual folder. */
  folderOption(): string[] {
    const { output } = this.setting;
    return output === usualOutput ? [] : [property("folder", quoted(output))];
  }

  uses(key: string): boolean {
    return this.#locals.has(key);
  }

  /** Returns what the functions of the file are made with: `const own = compiled(…);` */
  bound(maker: string, workflow: string, ...args: string[]): string {
    const all = [this.component(), quoted(workflow), ...args].join(", ");
    return laidOut(`const ${this.name("own")} = ${this.runtime(maker)}(${all});`);
  }

  /** `own.mutation(…)` */
  own(method: string, ...args: string[]): string {
    return `${this.name("own")}.${method}(${args.join(", ")})`;
  }

  /** `export const save: StepMutation = own.mutation(…);` */
  exported(name: string, type: string, method: string, ...args: string[]): string {
    return exportedConst(name, this.runtime(type), this.own(method, ...args));
  }

  /** `function toSave(run: Run): Arrival { return run.…; }` */
  runFunction(name: string, method: string, ...args: string[]): string {
    const head = `function ${name}(run: ${this.runtime("Run")}): ${this.runtime("Arrival")}`;
    const result = laidOut(`return run.${method}(${args.join(", ")});`, "  ");
    return `${laidOut(head, "", 0, 2)} {\n  ${result}\n}`;
  }

  /** The function by which a run arrives somewhere; for an action, what makes it. */
  arrival(at: Following): string {
    if (at.at === "stage" && isQueued(at.stage)) return this.own("queue", quoted(at.stage.name));
    // All stages before the ends: a node named "end" keeps its name.
    for (const { name } of this.#unnamed.splice(0))
      this.name(`to:${name}`, `to${capitalized(stageIdentifier(name))}`);
    if (at.at === "stage") return this.name(`to:${at.stage.name}`);
    if (at.at === "endOfBody") return this.afterPath(at.body.path);
    if (at.at === "ended") return this.name("ended", "toEnded");
    return at.at === "end" ? this.name("the end", "toEnd") : this.name("undone", "toUndone");
  }

  /** The function by which a run goes on after the children of a stage, or after a body. */
  afterPath(path: string): string {
    return this.name(`after:${path}`, `after${capitalized(stageIdentifier(path))}`);
  }

  /** The function by which the run goes on after all the branches or items of a stage. */
  afterAll(stage: string): string {
    return this.name(`after all:${stage}`, `afterAll${capitalized(stageIdentifier(stage))}`);
  }

  after(stage: StagePlan): Following {
    return this.#after.get(stage) ?? { at: "end" };
  }

  imports(): string {
    const modules = new Map<string, Import[]>();
    for (const each of sortedBy(this.#imports.values(), ({ order }) => order))
      modules.set(each.module, [...(modules.get(each.module) ?? []), each]);
    const texts = [...modules].flatMap(([module, imports]) =>
      importsFrom(quoted(moduleIn(this.setting.output, module)), imports),
    );
    return texts.join("\n");
  }
}

export interface WrittenConst {
  readonly name: string;
  readonly text: string;
}

/** A function that gives schemas, for their types alone, and declares first what they name. */
export function copiedFunction(
  name: string,
  consts: readonly WrittenConst[],
  given: string,
): string {
  const before = consts.map(({ text }) => `  const ${text};\n`).join("");
  return `// prettier-ignore\nconst ${name} = () => {\n${before}  return ${given}\n};`;
}

const isQueued = ({ kind }: StagePlan): boolean => stageKind(kind).goes === "queued";

/** One statement for all names in braces, and one for each other. */
function importsFrom(module: string, imports: readonly Import[]): string[] {
  const isAlone = ({ imported, typeOnly }: Import) =>
    imported === "*" || (imported === "default" && !typeOnly);
  const alone = imports.filter(isAlone).map(({ imported, local, typeOnly }) => {
    return `import ${typeOnly ? "type " : ""}${imported === "*" ? "* as " : ""}${local} from ${module};`;
  });
  const named = imports.filter((each) => !isAlone(each));
  const areTypes = named.every(({ typeOnly }) => typeOnly);
  const names = named.map(({ imported, local, typeOnly }) => {
    const alias = imported === local ? local : `${imported} as ${local}`;
    return typeOnly && !areTypes ? `type ${alias}` : alias;
  });
  if (names.length === 0) return alone;
  const braces = `import ${areTypes ? "type " : ""}{ ${names.join(", ")} } from ${module};`;
  // Prettier never breaks the braces around a single name.
  return [...alone, names.length === 1 ? braces : laidOut(braces)];
}
