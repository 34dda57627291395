import { scopeReads } from "../handlers.js";
import type { Options } from "../options.js";
import { type NodeKind, ofNode, stagePlan } from "./node-kind.js";

/** `.end((scope) => output)`: one stage, with which the run ends. */
export const end: NodeKind = {
  lastName: "end",
  parts({ call, named, context: { file, scope: visible } }) {
    const [value] = call.call.arguments;
    if (value === undefined) {
      const hint = "write what the output is: `.end(({ input }) => …)`";
      file.report("missingOption", named.at, `${named.label} has no output`, hint);
    }
    const output = value && { name: "output", nameNode: value, value };
    const options: Options = new Map(output && [["output", output]]);
    const reads = scopeReads(output, file);
    const policy = { values: {}, computed: [], given: new Map() };
    const mention = { elsewhere: named.label, within: named.label };
    const work = { kind: "end", reads, policy, at: named.at } as const;
    const stages = [stagePlan({ ...ofNode(named), mention }, work, { visible }, file)];
    return { stages, options, source: call.call.arguments };
  },
};
