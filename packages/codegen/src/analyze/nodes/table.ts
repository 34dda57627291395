import { branch } from "./branch.js";
import { each, parallel, race } from "./concurrent.js";
import { end } from "./end.js";
import { finalize, step } from "./step.js";
import { loop } from "./loop.js";
import { match } from "./match.js";
import type { NodeKind } from "./node-kind.js";
import { parent } from "./parent.js";
import { child, event, sleep } from "./waiting.js";

/** Every kind of node, by the name of its method. A new kind is one entry here. */
export const nodeKinds: ReadonlyMap<string, NodeKind> = new Map(
  Object.entries({
    step,
    parent,
    sleep,
    event,
    branch,
    match,
    loop,
    parallel,
    race,
    each,
    child,
    end,
    finalize,
  }),
);
