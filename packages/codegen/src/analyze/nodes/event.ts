import { functionOf } from "../functions.js";
import { objectOf } from "../known.js";
import { type Options, policyOf } from "../options.js";
import { readsOf } from "../reads.js";
import {
  type Named,
  type NodeContext,
  type NodeKind,
  ofNode,
  optionSource,
  stagePlan,
} from "./node-kind.js";
import { isDuration } from "./sleep.js";

const planned = ["timeout", "sensitive"];

/** `.event(name, { schema | anyOf, timeout? })`: one stage, which reads what its timeout does. */
export const event: NodeKind = {
  known: ["schema", "anyOf", ...planned],
  planned,
  parts({ named, options, context }) {
    const { file, scope: visible } = context;
    checkSchema(options, named, context);
    const timeout = options.get("timeout");
    const fn = timeout && functionOf(timeout.value, file);
    const isFixed = timeout === undefined || isDuration(timeout.value, file);
    // What cannot be seen may be a function, and may read anything.
    const reads = fn !== undefined ? readsOf(fn, "ofScope", file) : isFixed ? [] : "*";
    const own = { kind: "event", reads, visible, at: named.at } as const;
    const stage = stagePlan({ ...ofNode(named), ...own, policy: policyOf(options, file) }, file);
    // A function is no value to look at.
    const values = new Map([...options].filter(([, each]) => fn === undefined || each !== timeout));
    return { stages: [stage], options: values, source: optionSource(options) };
  },
};

/** An event has one schema, or one for each of several names. */
function checkSchema(options: Options, { label, at }: Named, { file }: NodeContext): void {
  const [schema, anyOf] = [options.get("schema"), options.get("anyOf")];
  const report = (where: typeof at, message: string, hint: string) =>
    file.report("oneSchema", where, `${label} ${message}`, hint);
  if (schema === undefined && anyOf === undefined) {
    const hint = "write `schema: z.object({ … })`; for several events `anyOf: { name: schema }`";
    report(at, "has neither schema nor anyOf, so nothing says what it waits for", hint);
  } else if (schema !== undefined && anyOf !== undefined) {
    report(anyOf.nameNode, "has both schema and anyOf", "keep one; anyOf is for several events");
  }
  if (anyOf !== undefined && objectOf(anyOf.value, file)?.getProperties().length === 0) {
    const hint = "write `anyOf: { approved: schema, rejected: schema }`";
    report(anyOf.nameNode, "waits for any of no events", hint);
  }
}
