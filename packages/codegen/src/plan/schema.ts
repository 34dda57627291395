import * as z from "zod";
import type { Place } from "../diagnostics/diagnostic.js";
import { importedName, type Expression } from "./expression.js";

/** Raised when `plan.json` changes so that an older compiler cannot read it. */
export const planVersion = 1;

export const functionKind = z.enum(["action", "mutation", "query"]);
export type FunctionKind = z.infer<typeof functionKind>;

/** What has one step record and one line of control flow; see docs/generated-code.md. */
export const stage = z.object({
  /** `save`, or `chapters.output`, `chapters.finalize`. */
  name: z.string(),
  kind: z.enum(["action", "mutation", "query", "children"]),
  /** The names of the scope that its handler reads; `["*"]` for all of them. */
  reads: z.array(z.string()),
  /** The user's function, such as `internal.documents.outline`, when there is no inline handler. */
  reference: z.string().optional(),
  /** The workflows its children may be; absent when they cannot be seen, so that it may be any. */
  workflows: z.array(z.string()).optional(),
});

export const node = z.object({
  name: z.string(),
  kind: z.string(),
  stages: z.array(stage),
  /** Those options that are literals: retry, timeout, concurrency, tolerate. */
  options: z.record(z.string(), z.json()),
  /** Of the node's source, without white space and comments. */
  hash: z.string(),
});

export const input = z.discriminatedUnion("kind", [
  /** An exported const, here or in a module: imported by the generated file. */
  z.object({ kind: z.literal("import"), import: importedName }),
  /** Anything closed: copied into the generated file. */
  z.object({ kind: z.literal("copy"), text: z.string(), imports: z.array(importedName) }),
]);

export const workflow = z.object({
  name: z.string(),
  /** The file of its definition, relative to the functions folder. */
  file: z.string(),
  input,
  options: z.record(z.string(), z.json()),
  nodes: z.array(node),
});

/** What is written to `_workflows/plan.json`. */
export const writtenPlan = z.object({
  generatedBy: z.literal("workflow-codegen"),
  version: z.literal(planVersion),
  workflows: z.array(workflow.extend({ hash: z.string() })),
});
export type WrittenPlan = z.infer<typeof writtenPlan>;

/*
 * In memory a plan also knows its places, for messages. They are not written: they would change with every edit above them.
 */

/** How a stage is run, as far as that is written out. */
export interface Policy {
  /** Options that are literals. */
  readonly values: Readonly<Record<string, z.core.util.JSONType>>;
  /** The names of those that are computed. */
  readonly computed: readonly string[];
  /** Where each option beside them stands. */
  readonly places: ReadonlyMap<string, Place>;
}

/** What a handler reads, and where. */
export interface Read {
  readonly name: string;
  readonly place: Place;
}

export interface StagePlan extends z.infer<typeof stage> {
  readonly place: Place;
  /** How a person calls it: `step "outline"`, `parent "chapters", finalize`. */
  readonly label: string;
  /** The same in the middle of a sentence, and seen from another stage of its node: `the children of "chapters"`, `its children`. */
  readonly mention: { readonly elsewhere: string; readonly within: string };
  readonly readPlaces: readonly Read[];
  /** Its retry, timeout and isolate. */
  readonly policy: Policy;
  /** Every name its handler could have read, in order. */
  readonly visible: readonly string[];
}

export interface NodePlan extends z.infer<typeof node> {
  readonly stages: StagePlan[];
  /** The place of its name. */
  readonly place: Place;
  /** Where each of its options stands, also those that are not literals. */
  readonly optionPlaces: ReadonlyMap<string, Place>;
  /** Whether the user chose its name. */
  readonly isNamed: boolean;
  /** Whether the workflow ends with it. */
  readonly endsWorkflow: boolean;
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
  /** Where each of its options stands, also those that are not literals. */
  readonly optionPlaces: ReadonlyMap<string, Place>;
  /** Whether a node's name is computed, so that a name which nothing seems to give may be that node's. */
  readonly hasUnknownNames: boolean;
  /** Whether one of its nodes could not be read, which has been reported. */
  readonly hasUnreadNodes: boolean;
}

export interface ProjectPlan {
  readonly workflows: readonly WorkflowPlan[];
}
