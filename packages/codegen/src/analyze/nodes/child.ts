import { childWorkflow } from "../children.js";
import { readRecover, scopeReads } from "../handlers.js";
import { readOptions, reportUnknown } from "../options.js";
import { type NodeKind, ofNode, stagePlan } from "./node-kind.js";

/** `.child(name, workflow, args, { recover? })`: one stage, a run of the workflow. */
export const child: NodeKind = {
  parts({ call, named, context }) {
    const { file, scope: visible, workflows } = context;
    const { label, at } = named;
    const [, workflow, args, given] = call.call.getArguments();
    if (workflow === undefined || args === undefined) {
      const message = `${label} has no ${workflow === undefined ? "workflow" : "args"}`;
      const hint = 'write all three: `.child("name", workflow, ({ input }) => ({ … }))`';
      file.report("missingOption", at, message, hint);
    }
    const name = workflow && childWorkflow(workflow, label, file, workflows);
    const reads = args && scopeReads(args, `the args of ${label}`, file);
    const options = given && readOptions(given, call.kindNode, label, file);
    if (options !== undefined) reportUnknown(options, ["recover"], label, file);
    const recover = options && readRecover(options, label, visible, file);
    if (name === undefined || reads === undefined) return { stages: [] };
    const policy = { values: {}, computed: [], given: new Map() };
    const own = { kind: "child" as const, reads, visible, recover, policy, at, workflows: [name] };
    return { stages: [stagePlan({ ...ofNode(named), ...own }, file)] };
  },
};
