import * as z from "zod";
import type { Place } from "../diagnostics/diagnostic.js";
import type { GivenOptions, Known } from "./known.js";
import { logLevels, planVersion } from "./constants.js";
import { isOutputFolder, maxPathSegment } from "./paths.js";
import { isStageName, isWorkflowName } from "./names.js";
import { stageKindNames } from "./stage-kinds.js";

/** The `input` of a definition as written, cut at the names that the generated file imports. */
export interface Expression {
  readonly parts: readonly (string | { readonly name: string; readonly shorthand: boolean })[];
}

export interface ImportedName {
  readonly local: string;
  /** The name in its module, in quotes if it is no identifier; `*` for the whole module. */
  readonly imported: string;
  readonly module: string;
  readonly typeOnly: boolean;
}

/* Names of the last plan become code and file names, so they are checked like new ones. */
const identifier = z
  .string()
  .max(maxPathSegment)
  .regex(/^[A-Za-z_][A-Za-z0-9_]*$/, "is no identifier");
const stageName = z
  .string()
  .max(10_000)
  .regex(/^[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z_][A-Za-z0-9_]*)*$/, "is no name of a stage")
  .refine(isStageName, "is a reserved name, which no stage has");
const workflowName = identifier.refine(isWorkflowName, "is a reserved name, which no workflow has");

export type FunctionKind = "action" | "mutation" | "query";

/** What has one step record and one line of control flow; see docs/generated-code.md. */
export const stage = z.object({
  /** By storage names: `save`, `chapters.output`, `charge.compensate`, `route.big.x`. */
  name: stageName,
  kind: z.enum(stageKindNames),
  /** The names of the scope that its handler reads; `["*"]` for all of them. */
  reads: z.array(z.string()),
  /** The fields of `input` that it reads; absent if it reads none, or they cannot be seen. */
  input: z.array(z.string()).optional(),
  /** The user's function, `internal.documents.outline` or `(computed)`, if there is no handler. */
  reference: z.string().optional(),
  info: z.literal(true).optional(),
  /** Says whether an action has a `retry` of its own, and not the workflow's. */
  retry: z.literal(true).optional(),
  recover: z.array(z.string()).optional(),
  /** What the keys of its limits are made of; absent without limits of its own. */
  limits: z.array(z.string()).optional(),
  until: z.array(z.string()).optional(),
  /** Says whether the outputs of children are reduced by a `reduce`. */
  reduce: z.literal(true).optional(),
  /** This finalize has a transaction of its own, so that a run can be at it. */
  isolate: z.literal(true).optional(),
  /** The workflows its children may be; absent when they cannot be seen, so that it may be any. */
  workflows: z.array(z.string()).optional(),
});

/** What is seen of a schema. */
export const fields = z.object({
  /** Says whether a value may have no others: they are then refused, not left out. */
  exact: z.literal(true).optional(),
  /** `<hash of the schema> <name>`; after the hash `?` if optional, `=` with a default. */
  fields: z.array(z.string()).optional(),
  /** What is seen of fields that are objects; of lists of objects, `[]` follows the name. */
  get inside() {
    return z.array(objectField).optional();
  },
  /** Hashes of the schemas of a union, or of all of a schema whose fields do not tell it. */
  oneOf: z.array(z.string()).optional(),
});
export type Fields = z.infer<typeof fields>;

const objectField = z.object({
  name: z.string(),
  /** What is around it: the tag in a union, how long a list may be, and whether it may be null. */
  as: z.string().optional(),
  get of() {
    return fields;
  },
});

export const node = z.object({
  name: z.string(),
  /** The name its results are stored under: its first one. Absent when it is its name. */
  storage: identifier.optional(),
  kind: z.string(),
  stages: z.array(stage),
  /** Options whose values can be seen: retry, timeout, concurrency, tolerate, maxIterations, … */
  options: z.record(z.string(), z.json()),
  /** The hash of the node's source without white space, comments, and the nodes in its bodies. */
  hash: z.string(),
  /** The events it takes, or the state of a loop, each with what is seen of its schema. */
  takes: z.array(z.object({ name: z.string(), ...fields.shape })).optional(),
  get bodies() {
    return z.array(body).optional();
  },
});

export const body = z.object({
  key: z.string(),
  storage: identifier.optional(),
  get nodes() {
    return z.array(node);
  },
});

const seen = z.union([z.string(), z.number()]).optional();

export const workflow = z.object({
  name: workflowName,
  /** The name that its runs are stored under: its first one. Absent when it is its name. */
  storage: workflowName.optional(),
  file: z.string(),
  /** A hash of the source of its `input`, without white space and comments, and what it names. */
  input: z.string(),
  /** What is seen of its `input`; absent without one. */
  fields: fields.optional(),
  options: z.record(z.string(), z.json()),
  /** The same of those options that are computed; absent when none is. */
  computed: z.string().optional(),
  /** Its `one`: what it does otherwise, if that is seen, and a hash of its source. */
  one: z.object({ otherwise: z.string().optional(), hash: z.string() }).optional(),
  /** Its `priority`, if that is seen, and a hash of its source. */
  priority: z.object({ by: seen, hash: z.string() }).optional(),
  /** A hash of the source of its `fairness`. */
  fairness: z.string().optional(),
  /**
   * The limits that it names, each with a hash of the source of its key; "" without a key. Of one
   * with an estimate, `=` and a hash of that come after it. `*` stands for those that are not seen.
   * Absent without any.
   */
  limits: z.record(z.string(), z.string()).optional(),
  /** Its `collect`: what is seen of it, and hashes of the source of its key and of all of it. */
  collect: z
    .object({
      keep: seen,
      quiet: seen,
      atMost: seen,
      size: seen,
      key: z.string().optional(),
      hash: z.string(),
    })
    .optional(),
  nodes: z.array(node),
});

/** What an earlier version leaves behind, so that no run is at a function that is gone. */
export const tombstones = z.object({
  /** Its storage name. */
  workflow: workflowName,
  /** Its action stages that are gone, among them compensations. */
  stages: z.array(stageName),
  /** Its removed nodes and cases by storage name, with hashes: no other gets their results. */
  nodes: z.array(z.object({ name: stageName, hash: z.string() })).optional(),
});
export type Tombstones = z.infer<typeof tombstones>;

const rate = z.object({
  limit: z.number(),
  per: z.union([z.number(), z.string()]),
  burst: z.number().optional(),
  count: z.enum(["attempts", "works"]).optional(),
});
const limit = z
  .object({
    total: z.number(),
    perKey: z.number(),
    rate,
    unit: z.string(),
    maxWaiting: z.number(),
  })
  .partial();

export const appConfig = z.object({
  /** The name under which the component is mounted. Default: `workflow`. */
  component: identifier.optional(),
  maxParallelism: z.number().optional(),
  logLevel: z.enum(logLevels).optional(),
  retention: z.union([z.string(), z.number()]).optional(),
  retry: z.json().optional(),
  /** By name: how many actions that name a limit run at once, and how many start in a time. */
  limits: z.record(z.string(), limit).optional(),
  /** The folder that generated code stands in. Default: `_workflows`. */
  output: z.string().refine(isOutputFolder, "is no folder for generated code").optional(),
});
export type AppConfig = z.infer<typeof appConfig>;

const generatedBy = z.literal("workflow-codegen");
const version = z.literal(planVersion);
const hashedWorkflow = workflow.extend({ hash: z.string() });

export const appPlan = z.object({
  generatedBy,
  compiler: z.string().optional(),
  version,
  config: appConfig.optional(),
});

/** `<storage name>.plan.json`: one file per workflow, so that branches can be merged. */
export const workflowPlanFile = z.object({
  generatedBy,
  version,
  workflow: hashedWorkflow.optional(),
  removed: tombstones.extend({ hash: z.string().optional() }).optional(),
});

export interface WrittenPlan extends z.infer<typeof appPlan> {
  workflows: z.infer<typeof hashedWorkflow>[];
  removed?: Tombstones[] | undefined;
}

/* In memory a plan also has places, for messages. Written, every edit above would change them. */

/** How a stage is run, as far as that is written out. */
export interface Policy {
  readonly values: Readonly<Record<string, z.core.util.JSONType>>;
  readonly computed: readonly string[];
  readonly given: GivenOptions;
}

export interface Renaming {
  readonly old: string;
  readonly now: string;
  readonly place: Place;
}

export interface Read {
  readonly name: string;
  readonly place: Place;
  /** What it reads of that; absent if it may be everything. */
  readonly fields?: readonly string[] | undefined;
}

export interface StagePlan extends z.infer<typeof stage> {
  readonly place: Place;
  readonly node: string;
  /** Where its code is in the definition: `chapters`, `finalize`; `agent`, `body`, `think`. */
  readonly code: readonly string[];
  /** Says whether it is outside of any sequence, as a compensation is. */
  readonly isAside: boolean;
  /** Its name in messages: `step "outline"`, `parent "chapters", finalize`. */
  readonly label: string;
  /** The same inside a sentence, and from another stage of its node: `its children`. */
  readonly mention: { readonly elsewhere: string; readonly within: string };
  /** What its handler, its `recover` and the like read, and every name each could have read. */
  readonly readers: readonly {
    readonly reads: readonly Read[];
    readonly visible: readonly string[];
  }[];
  readonly policy: Policy;
  /** The limits that it names, as far as they are seen. Default: none. */
  readonly limitNames?: readonly LimitName[] | undefined;
  /** The workflows that each run starts a child of, as far as they are seen. Default: none. */
  readonly startsAlways?: readonly string[] | undefined;
}

/** A limit that is named, with what is given for it: `true` for nothing but its name. */
export interface LimitName extends Read {
  readonly value: Known;
  /** The key is a number, which it cannot be. Default: it is none, or that is not seen. */
  readonly makesNumber?: boolean;
}

export interface NodePlan extends z.infer<typeof node> {
  readonly stages: StagePlan[];
  readonly bodies?: BodyPlan[];
  /** Its path, with the nodes and cases around it: `route.big.x`. */
  readonly path: string;
  readonly place: Place;
  readonly given: GivenOptions;
  /** The events it takes, each with its schema if that can be seen. Default: none. */
  readonly events?: readonly TakenEvent[] | "unseen" | undefined;
  /** False for a finalize, which ends the workflow. */
  readonly isNamed: boolean;
}

export interface TakenEvent {
  readonly name: string;
  readonly schema: InputPlan | undefined;
}

export interface BodyPlan extends z.infer<typeof body> {
  readonly nodes: NodePlan[];
  /** What the names of its stages begin with, but for the dot: `route.big`, `agent`. */
  readonly path: string;
  /** How a person calls it: `case "big" of branch "route"`, `the body of loop "agent"`. */
  readonly label: string;
  /** What a run comes to after its last node: `the end of the case`. */
  readonly end: string;
  readonly place: Place;
  /** The names that its first node could read, in order. */
  readonly visible: readonly string[];
  readonly hasUnreadNodes: boolean;
  readonly hasUnknownNames: boolean;
}

/** How a schema comes into the generated file: that of the input, or of an event. */
export type InputPlan =
  /** Anything else: its type is that of the definition. `closed` is what it uses unexported. */
  | { readonly kind: "definition"; readonly closed: readonly string[]; readonly hash: string }
  /** An exported const, here or in a module: imported by the generated file. */
  | { readonly kind: "import"; readonly import: ImportedName; readonly hash: string }
  /** Anything closed: copied into the generated file. */
  | {
      readonly kind: "copy";
      readonly imports: readonly ImportedName[];
      readonly expression: Expression;
      readonly globals: readonly string[];
      /** The consts of its file that it names and that are not exported, in order. */
      readonly consts: readonly CopiedConst[];
      readonly hash: string;
    };

/** A const that is copied beside a schema: `Doc = z.object({ … })`. */
export interface CopiedConst {
  readonly name: string;
  readonly declaration: Expression;
}

export interface WorkflowPlan extends Omit<z.infer<typeof workflow>, "input"> {
  readonly input: InputPlan;
  readonly nodes: NodePlan[];
  readonly place: Place;
  readonly given: GivenOptions;
  /** The options that it takes from the app's config. Default: none. */
  readonly inherited?: Pick<AppConfig, "retry" | "limits">;
  /** The limits that its options name, as far as they are seen. Default: none. */
  readonly limitNames?: readonly LimitName[] | undefined;
  /** What the options that see the input alone read, as far as that is seen. Default: nothing. */
  readonly optionReads?:
    readonly { readonly of: string; readonly reads: readonly Read[] }[] | undefined;
  readonly renamings: readonly Renaming[];
  /** What it says that it was called before. */
  readonly renamedFrom?: { readonly name: string; readonly place: Place } | undefined;
  /** The storage names that differ from the names, by path. Default: none. */
  readonly storageNames?: ReadonlyMap<string, string>;
  /** Says whether a node's name is computed, so that a missing name may be that node's. */
  readonly hasUnknownNames: boolean;
  readonly hasUnreadNodes: boolean;
  /** Says whether it has an error, in whatever file. */
  readonly isBroken: boolean;
}

export interface ConfigPlan {
  readonly values: AppConfig;
  readonly given: GivenOptions;
}

export interface ProjectPlan {
  readonly config?: ConfigPlan;
  readonly workflows: readonly WorkflowPlan[];
  /** What workflows and stages that are gone leave behind. Default: nothing. */
  readonly removed?: readonly Tombstones[];
}
