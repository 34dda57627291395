import { branch } from "./branch.js";
import { child } from "./child.js";
import { event } from "./event.js";
import { finalize } from "./finalize.js";
import { loop } from "./loop.js";
import type { NodeKind } from "./node-kind.js";
import { parent } from "./parent.js";
import { sleep } from "./sleep.js";
import { step } from "./step.js";

/** Every kind of node, by the name of its method. A new kind is one entry here. */
export const nodeKinds: ReadonlyMap<string, NodeKind> = new Map([
  ["step", step],
  ["parent", parent],
  ["sleep", sleep],
  ["event", event],
  ["branch", branch],
  ["loop", loop],
  ["child", child],
  ["finalize", finalize],
]);
