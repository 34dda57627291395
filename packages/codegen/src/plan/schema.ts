import * as z from "zod";
import type { Place } from "../diagnostics/diagnostic.js";
import { importedName, type Expression } from "./expression.js";
import type { GivenOptions } from "./known.js";
import { logLevels } from "./log-levels.js";
import { isOutputFolder, maxPathSegment } from "./paths.js";
import { stageKindNames } from "./stage-kinds.js";
import { planVersion } from "./version.js";

/* Names of the last plan come into generated code and into the names of files; so they are looked at, as those of definitions are. */
const identifier = z
  .string()
  .max(maxPathSegment)
  .regex(/^[A-Za-z_][A-Za-z0-9_]*$/, "is no identifier");
const stageName = z
  .string()
  .max(10_000)
  .regex(/^[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z_][A-Za-z0-9_]*)*$/, "is no name of a stage");

export const functionKind = z.enum(["action", "mutation", "query"]);
export type FunctionKind = z.infer<typeof functionKind>;

/** What has one step record and one line of control flow; see docs/generated-code.md. */
export const stage = z.object({
  /** By storage names: `save`, or `chapters.output`, `chapters.finalize`, `charge.compensate`; of a case `route.big.x`, of a body `agent.think`. */
  name: stageName,
  kind: z.enum(stageKindNames),
  /** The names of the scope that its handler reads; `["*"]` for all of them. */
  reads: z.array(z.string()),
  /** The user's function, such as `internal.documents.outline`, when there is no inline handler. */
  reference: z.string().optional(),
  /** Whether the `args` of that ask for `info`. */
  info: z.literal(true).optional(),
  /** The names that its `recover` reads; absent without one. */
  recover: z.array(z.string()).optional(),
  /** The names that the `until` of a loop reads. */
  until: z.array(z.string()).optional(),
  /** Whether the outputs of children are folded by a `reduce`. */
  reduce: z.literal(true).optional(),
  /** The workflows its children may be; absent when they cannot be seen, so that it may be any. */
  workflows: z.array(z.string()).optional(),
});

export const node = z.object({
  name: z.string(),
  /** The name that its results are stored under: the first that it had. Absent when it is its name. */
  storage: identifier.optional(),
  kind: z.string(),
  stages: z.array(stage),
  /** Those options whose values can be seen: retry, timeout, concurrency, tolerate, maxIterations and their like. */
  options: z.record(z.string(), z.json()),
  /** Of the node's source, without white space and comments, and without the nodes in its bodies. */
  hash: z.string(),
  /** The cases of a branch, the body of a loop. */
  get bodies() {
    return z.array(body).optional();
  },
});

/** Nodes that stand inside another one. */
export const body = z.object({
  /** That of the case; `body` of a loop. */
  key: z.string(),
  /** That of a case, if it is another name. */
  storage: identifier.optional(),
  get nodes() {
    return z.array(node);
  },
});

/** Of the source of something, without white space and comments, and with what it names. Absent in plans of before there was one. */
const sourceHash = z.string().optional();

export const input = z.discriminatedUnion("kind", [
  /** An exported const, here or in a module: imported by the generated file. */
  z.object({ kind: z.literal("import"), import: importedName, hash: sourceHash }),
  /** Anything closed: copied into the generated file. */
  z.object({
    kind: z.literal("copy"),
    text: z.string(),
    imports: z.array(importedName),
    hash: sourceHash,
  }),
]);

export const workflow = z.object({
  name: identifier,
  /** The file of its definition, relative to the functions folder. */
  file: z.string(),
  input,
  options: z.record(z.string(), z.json()),
  /** Of those options that are computed; absent when none is. */
  computed: sourceHash,
  nodes: z.array(node),
});

/** What an earlier version of a workflow leaves behind, so that no run is at a function that is not there. */
export const leftover = z.object({
  workflow: identifier,
  /** Its action stages that are gone, among them compensations. */
  stages: z.array(stageName),
  /** The storage names of its nodes that are gone, with the hashes of these, so that another node is not given their results. */
  nodes: z.array(z.object({ name: stageName, hash: z.string() })).optional(),
});
export type Leftover = z.infer<typeof leftover>;

const outputFolder = z
  .string()
  .refine(isOutputFolder, "is no folder that generated code may stand in");

/** What the app's `stepwise.config.ts` says for all workflows. */
export const appConfig = z.object({
  /** The name under which the component is mounted. Default: `workflow`. */
  component: identifier.optional(),
  maxParallelism: z.number().optional(),
  logLevel: z.enum(logLevels).optional(),
  /** A duration. */
  retention: z.union([z.string(), z.number()]).optional(),
  retry: z.json().optional(),
  /** The folder that generated code stands in. Default: `_workflows`. */
  output: outputFolder.optional(),
});
export type AppConfig = z.infer<typeof appConfig>;

const generatedBy = z.literal("workflow-codegen");
const version = z.literal(planVersion);
const hashedWorkflow = workflow.extend({ hash: z.string() });

/** `plan.json` in the output folder: what holds for all workflows. */
export const appPlan = z.object({
  generatedBy,
  /** The compiler's own version. */
  compiler: z.string().optional(),
  version,
  /** Absent when the app has none. */
  config: appConfig.optional(),
});

/** `<workflow>.plan.json`: one file for each workflow, so that branches which add different ones can be merged. */
export const workflowPlanFile = z.object({
  generatedBy,
  version,
  /** Absent when the workflow is gone. */
  workflow: hashedWorkflow.optional(),
  /** Absent when there is nothing. */
  removed: leftover.optional(),
});

/** All of a plan. */
export const writtenPlan = z.object({
  ...appPlan.shape,
  workflows: z.array(hashedWorkflow),
  removed: z.array(leftover).optional(),
});
export type WrittenPlan = z.infer<typeof writtenPlan>;

/*
 * In memory a plan also knows its places, for messages. They are not written: they would change with every edit above them.
 */

/** How a stage is run, as far as that is written out. */
export interface Policy {
  /** Options whose values can be seen. */
  readonly values: Readonly<Record<string, z.core.util.JSONType>>;
  /** The names of those that are computed. */
  readonly computed: readonly string[];
  /** All options beside them. */
  readonly given: GivenOptions;
}

/** One entry of a workflow's `renamed`. */
export interface Renaming {
  readonly old: string;
  /** What the node is called now. */
  readonly now: string;
  readonly place: Place;
}

/** What a handler reads, and where. */
export interface Read {
  readonly name: string;
  readonly place: Place;
}

/** One function of a stage that reads its scope, such as a handler or its `recover`. */
export interface Reader {
  readonly reads: readonly Read[];
  /** Every name it could have read, in order. */
  readonly visible: readonly string[];
}

export interface StagePlan extends z.infer<typeof stage> {
  readonly place: Place;
  /** The path of its node: `agent.think` of `agent.think.compensate`. */
  readonly node: string;
  /** Where its code is found among the definition's nodes: `chapters`, `finalize`; `agent`, `body`, `think`. */
  readonly code: readonly string[];
  /** Whether it stands in no sequence: a compensation. */
  readonly isAside: boolean;
  /** How a person calls it: `step "outline"`, `parent "chapters", finalize`. */
  readonly label: string;
  /** The same in the middle of a sentence, and seen from another stage of its node: `the children of "chapters"`, `its children`. */
  readonly mention: { readonly elsewhere: string; readonly within: string };
  readonly readers: readonly Reader[];
  /** Its retry, timeout and isolate. */
  readonly policy: Policy;
}

export interface NodePlan extends z.infer<typeof node> {
  readonly stages: StagePlan[];
  readonly bodies?: BodyPlan[];
  /** Its name, after those of the nodes and cases around it: `route.big.x`. */
  readonly path: string;
  /** The place of its name. */
  readonly place: Place;
  /** All its options, also those whose values cannot be seen. */
  readonly given: GivenOptions;
  /** Whether the user chose its name. */
  readonly isNamed: boolean;
  /** Whether the workflow ends with it. */
  readonly endsWorkflow: boolean;
  /** Whether later nodes can read what it makes: a sleep makes nothing. */
  readonly hasOutput: boolean;
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
  /** Whether something in it could not be read, which has been reported. */
  readonly hasUnreadNodes: boolean;
  /** Whether a node's name in it is computed. */
  readonly hasUnknownNames: boolean;
}

export type InputPlan =
  | Extract<z.infer<typeof input>, { kind: "import" }>
  | (Extract<z.infer<typeof input>, { kind: "copy" }> & {
      readonly expression: Expression;
      readonly globals: string[];
    });

export interface WorkflowPlan extends z.infer<typeof workflow> {
  readonly input: InputPlan;
  readonly nodes: NodePlan[];
  /** The place of its name. */
  readonly place: Place;
  /** All its options, also those whose values cannot be seen. */
  readonly given: GivenOptions;
  /** Those of its options that it does not have itself, but by the app's config. Default: none. */
  readonly inherited?: Pick<AppConfig, "retry">;
  readonly renamings: readonly Renaming[];
  /** The storage names that are other names, by the paths of nodes and cases. Default: none is. */
  readonly storageNames?: ReadonlyMap<string, string>;
  /** Whether a node's name is computed, so that a name which nothing seems to give may be that node's. */
  readonly hasUnknownNames: boolean;
  /** Whether one of its nodes could not be read, which has been reported. */
  readonly hasUnreadNodes: boolean;
}

/** What was read in the app's config. */
export interface ConfigPlan {
  readonly values: AppConfig;
  readonly given: GivenOptions;
}

export interface ProjectPlan {
  /** Default: the app has none. */
  readonly config?: ConfigPlan;
  readonly workflows: readonly WorkflowPlan[];
  /** What workflows and stages that are gone leave behind. Default: nothing. */
  readonly removed?: readonly Leftover[];
}
