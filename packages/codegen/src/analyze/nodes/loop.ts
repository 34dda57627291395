import { bodyPlan } from "../bodies.js";
import { scopeReads } from "../handlers.js";
import { policyOf, readOptions } from "../options.js";
import { stagePlan } from "../stages.js";
import { nodePlan, ofNode, optionSource, readName, type NodeKind } from "./node-kind.js";
import { reportMissing, reportOrder, reportUnknown } from "./option-rules.js";

const order = [["state"], ["initial"], ["body"], ["until"]];
const planned = ["maxIterations", "timeout"];
const needed = {
  initial: "(scope) => …",
  body: "(b) => b.step(…)",
  until: "({ loop }) => loop.state.done",
  maxIterations: "100",
};

/** `.loop(name, { state?, initial, body, until, maxIterations, timeout? })`: one stage, and those of its body. */
export const loop: NodeKind = {
  analyze(call, context) {
    const { file, scope } = context;
    const named = readName(call, context);
    if (named === undefined) return undefined;
    const { label, path, at } = named;
    const options = readOptions(call.call.getArguments()[1], call.kindNode, label, file);
    if (options === undefined) return nodePlan(call, named, context, { stages: [] });
    reportUnknown(options, [...order.flat(), ...planned], label, file);
    reportMissing(options, needed, named, file);
    reportOrder(options, order, label, file);
    const [initial, body, until] = ["initial", "body", "until"].map((name) => options.get(name));
    // The loop's own state stands in the place of that of a loop around it.
    const within = [...scope.filter((name) => name !== "loop"), "loop"];
    const reads = initial && scopeReads(initial.value, `the initial of ${label}`, file);
    const until_ = until && scopeReads(until.value, `the until of ${label}`, file);
    const inside = {
      key: "body",
      path,
      code: [...named.code, "body"],
      scope: within,
      label: `the body of ${label}`,
      end: "the end of the pass",
    };
    const stage =
      reads &&
      until_ &&
      stagePlan(
        {
          ...ofNode(named),
          kind: "loop",
          reads,
          visible: scope,
          until: { reads: until_, visible: within },
          policy: policyOf(options, file),
          at,
        },
        file,
      );
    return nodePlan(call, named, context, {
      stages: [stage],
      bodies: body === undefined ? [] : [bodyPlan(body, inside, context)],
      options,
      planned,
      source: optionSource(new Map([...options].filter(([name]) => name !== "body"))),
    });
  },
};
