import { finalize } from "./finalize.js";
import type { NodeKind } from "./node-kind.js";
import { parent } from "./parent.js";
import { step } from "./step.js";
import { unsupported } from "./unsupported.js";

/** Every kind of node, by the name of its method. A new kind is one entry here. */
export const nodeKinds: ReadonlyMap<string, NodeKind> = new Map([
  ["step", step],
  ["parent", parent],
  ["finalize", finalize],
  ["sleep", unsupported("sleep")],
  ["event", unsupported("event")],
  ["branch", unsupported("branch")],
  ["loop", unsupported("loop")],
  ["child", unsupported("child")],
]);
