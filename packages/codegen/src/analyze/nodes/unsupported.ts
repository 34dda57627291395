import { nodePlan, readName, type NodeKind } from "./node-kind.js";

/**
 * A node of the language that this version does not compile. It is reported, and then stands in the plan by its name, so
 * that later nodes which read it are not reported as well.
 */
export function unsupported(kind: string): NodeKind {
  return {
    analyze(call, context) {
      const { file } = context;
      const named = readName(call, context);
      const name = named === undefined ? "" : `(${JSON.stringify(named.name)})`;
      file.report(
        "unsupportedNode",
        call.kindNode,
        `.${kind}${name} is not supported yet by this version of workflow-codegen`,
        {
          hint: "this version compiles .step(), .parent() and .finalize()",
        },
      );
      return named && nodePlan(call, file, { kind, name: named.name, at: named.node, stages: [] });
    },
  };
}
