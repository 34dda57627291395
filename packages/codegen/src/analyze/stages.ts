import type { Node } from "ts-morph";
import type { Policy, Reader, StagePlan } from "../plan/schema.js";
import type { DefinitionFile } from "./definition-file.js";
import type { Reads } from "./reads.js";

/** What one function of a stage reads, of what it may read. */
interface Reading {
  readonly reads: Reads;
  readonly visible: readonly string[];
}

/** What a stage of the plan is made of. */
export interface StageParts extends Reading {
  readonly name: string;
  readonly node: string;
  readonly code: readonly string[];
  readonly label: string;
  readonly mention: StagePlan["mention"];
  readonly kind: StagePlan["kind"];
  readonly policy: Policy;
  readonly at: Node;
  readonly isAside?: boolean;
  readonly reference?: string;
  readonly info?: true | undefined;
  readonly recover?: Reading;
  readonly until?: Reading;
  readonly reduce?: true;
  readonly isolate?: true | undefined;
  readonly workflows?: string[];
}

/** A stage of the plan. Its reads are in the order of the scope, however a handler is written. */
export function stagePlan(parts: StageParts, file: DefinitionFile): StagePlan {
  const { name, kind, node, code, label, mention, policy, isAside = false } = parts;
  const { reference, info, reduce, isolate, workflows, recover, until } = parts;
  const readings = [parts, recover, until].filter((each) => each !== undefined);
  return {
    name,
    kind,
    reads: ordered(parts),
    reference,
    info,
    recover: recover && ordered(recover),
    until: until && ordered(until),
    reduce,
    isolate,
    workflows,
    node,
    code,
    label,
    mention,
    policy,
    isAside,
    readers: readings.map(readerOf),
    place: file.placeOf(parts.at),
  };
}

function ordered({ reads, visible }: Reading): string[] {
  if (reads === "*") return ["*"];
  const names = new Set(reads.map(({ name }) => name));
  return visible.filter((name) => names.has(name));
}

const readerOf = ({ reads, visible }: Reading): Reader => ({
  reads: reads === "*" ? [] : reads,
  visible,
});
