import { once } from "./once.js";
import { hashOf } from "./hash-of.js";
import { compilerVersion } from "../version.js";
import { digestOf, lazyWorkflow } from "./digest.js";
import type {
  AppConfig,
  BodyPlan,
  NodePlan,
  ProjectPlan,
  StagePlan,
  WorkflowPlan,
  WrittenPlan,
} from "./schema.js";
import { planVersion } from "./constants.js";

type WrittenWorkflow = WrittenPlan["workflows"][number];
type WrittenNode = WrittenWorkflow["nodes"][number];
type WrittenStage = WrittenNode["stages"][number];

/** The plan as it is committed: without places, with a hash for every workflow. */
export function toWritten({ config, workflows, removed = [] }: ProjectPlan): WrittenPlan {
  const settings = config?.values ?? {};
  return {
    generatedBy: "workflow-codegen",
    compiler: compilerVersion(),
    version: planVersion,
    // Empty without settings, so that an app without a config keeps its plan.
    ...(Object.keys(settings).length === 0 ? {} : { config: configOf(settings) }),
    workflows: workflows.map(writtenWorkflowOf),
    ...(removed.length === 0 ? {} : { removed: [...removed] }),
  };
}

/** The same whatever order the numbers of a limit are written in. */
function configOf(settings: AppConfig): AppConfig {
  const { limits } = settings;
  if (limits === undefined) return settings;
  const each = Object.entries(limits).map(([name, { total, perKey, rate, unit, maxWaiting }]) => {
    const { limit, per, burst, count } = rate ?? {};
    return [name, { total, perKey, rate: rate && { limit, per, burst, count }, unit, maxWaiting }];
  });
  return { ...settings, limits: Object.fromEntries(each) };
}

/** Made once: a watching compiler writes most workflows again and again. */
const writtenWorkflowOf = once((placed: WorkflowPlan): WrittenWorkflow => {
  const {
    name,
    storage,
    file,
    fields,
    options,
    computed,
    one,
    priority,
    fairness,
    limits,
    collect,
  } = placed;
  const input = placed.input.hash;
  const nodes = placed.nodes.map(nodeOf);
  type Unhashed = Every<Omit<WrittenWorkflow, "hash">>;
  const seen = { fields, options, computed, one, priority, fairness, limits, collect };
  const own = { name, storage, file, input, ...seen };
  const workflow: Unhashed = { ...own, nodes };
  return { ...workflow, hash: hashOf(JSON.stringify(workflow)) };
});

/* By hand, as zod loads slower than a small app compiles. Types and a test keep it complete. */

type Every<T> = { [Field in keyof Required<T>]: T[Field] };

function nodeOf(node: NodePlan): Every<WrittenNode> {
  const { name, storage, kind, options, hash, takes } = node;
  const stages = node.stages.map(stageOf);
  return { name, storage, kind, stages, options, hash, takes, bodies: node.bodies?.map(bodyOf) };
}

const bodyOf = ({ key, storage, nodes }: BodyPlan) => ({ key, storage, nodes: nodes.map(nodeOf) });

function stageOf(stage: StagePlan): Every<WrittenStage> {
  // Spreading a part of it would take several times as long.
  return {
    name: stage.name,
    kind: stage.kind,
    reads: stage.reads,
    input: stage.input,
    reference: stage.reference,
    info: stage.info,
    retry: stage.retry,
    recover: stage.recover,
    limits: stage.limits,
    until: stage.until,
    reduce: stage.reduce,
    isolate: stage.isolate,
    workflows: stage.workflows,
  };
}

/** A workflow whose written form has been made before, though only its hash is at hand. */
export function knowWritten(workflow: WorkflowPlan, hash: string, load: () => WorkflowPlan): void {
  const { name, file } = workflow;
  const known = { name, file, storage: undefined, hash };
  writtenWorkflowOf.keep(
    workflow,
    lazyWorkflow<WrittenWorkflow>(known, WRITTEN_FIELDS, digestOf(workflow), () =>
      writtenWorkflowOf(load()),
    ),
  );
}

/** In this order they are written. */
export const WRITTEN_FIELDS = [
  "name",
  "storage",
  "file",
  "input",
  "fields",
  "options",
  "computed",
  "one",
  "priority",
  "fairness",
  "limits",
  "collect",
  "nodes",
  "hash",
] as const;

/** The hash of a workflow's plan, under which its runs are started. */
export const planHash = (workflow: WorkflowPlan): string => writtenWorkflowOf(workflow).hash;
