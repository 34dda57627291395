import { childWorkflow } from "../children.js";
import { readRecover, scopeReads } from "../handlers.js";
import { readOptions } from "../options.js";
import { stagePlan } from "../stages.js";
import { nodePlan, ofNode, readName, type NodeKind } from "./node-kind.js";
import { reportUnknown } from "./option-rules.js";

/** `.child(name, workflow, args, { recover? })`: one stage, a run of the workflow. */
export const child: NodeKind = {
  analyze(call, context) {
    const { file, scope: visible } = context;
    const named = readName(call, context);
    if (named === undefined) return undefined;
    const { label, at } = named;
    const [, workflow, args, given] = call.call.getArguments();
    if (workflow === undefined || args === undefined) {
      const missing = workflow === undefined ? "workflow" : "args";
      const message = `${label} has no ${missing}`;
      const hint = 'write all three: `.child("name", workflow, ({ input }) => ({ … }))`';
      file.report("missingOption", at, message, hint);
    }
    const name = workflow && childWorkflow(workflow, label, file, context.workflows);
    const reads = args && scopeReads(args, `the args of ${label}`, file);
    const options = given && readOptions(given, call.kindNode, label, file);
    if (options !== undefined) reportUnknown(options, ["recover"], label, file);
    const recover = options && readRecover(options, named, file);
    const policy = { values: {}, computed: [], given: new Map() };
    const stage =
      name !== undefined && reads !== undefined
        ? stagePlan(
            {
              ...ofNode(named),
              kind: "child",
              reads,
              visible,
              recover: recover && { reads: recover, visible },
              policy,
              at,
              workflows: [name],
            },
            file,
          )
        : undefined;
    return nodePlan(call, named, context, { stages: [stage] });
  },
};
