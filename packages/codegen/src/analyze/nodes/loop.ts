import { bodyPlan } from "../bodies.js";
import { scopeReads } from "../handlers.js";
import { policyOf } from "../options.js";
import { type NodeKind, ofNode, optionSource, stagePlan } from "./node-kind.js";

const order = [["state"], ["initial"], ["body"], ["until"]];
const planned = ["maxIterations", "timeout"];

/** `.loop(name, { state?, initial, body, until, … })`: one stage, and those of its body. */
export const loop: NodeKind = {
  known: [...order.flat(), ...planned],
  order,
  planned,
  needed: {
    initial: "(scope) => …",
    body: "(b) => b.step(…)",
    until: "({ loop }) => loop.state.done",
    maxIterations: "100",
  },
  parts({ named, options, context }) {
    const { file, scope: visible } = context;
    const { label, path, at } = named;
    const [initial, body, until] = ["initial", "body", "until"].map((name) => options.get(name));
    // The loop's own state stands in the place of that of a loop around it.
    const within = [...visible.filter((name) => name !== "loop"), "loop"];
    const reads = initial && scopeReads(initial.value, `the initial of ${label}`, file);
    const ends = until && scopeReads(until.value, `the until of ${label}`, file);
    const policy = policyOf(options, file);
    const own = { kind: "loop", visible, policy, at } as const;
    const stage =
      reads &&
      ends &&
      stagePlan({ ...ofNode(named), ...own, reads, until: { reads: ends, visible: within } }, file);
    const inside = {
      key: "body",
      path,
      code: [...named.code, "body"],
      scope: within,
      label: `the body of ${label}`,
      end: "the end of the pass",
    };
    return {
      stages: [stage],
      bodies: body === undefined ? [] : [bodyPlan(body, inside, context)],
      source: optionSource(new Map([...options].filter(([name]) => name !== "body"))),
    };
  },
};
