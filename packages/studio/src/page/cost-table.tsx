import { durationText } from "@stepwise/workflow/react";
import type { Cost, NodeCost } from "./plans.js";

/** Shows what each stage of a workflow and a whole run cost, as `explain` says. */
export function CostTable({ cost }: { cost: Cost }) {
  const { isAtMost, rootExecutions, transactions, worstCaseMs, perChild } = cost;
  return (
    <section>
      <h2>Costs</h2>
      <p>
        A run makes {isAtMost ? "at most " : ""}
        {rootExecutions} function calls, {transactions} of them transactions,{" "}
        {worstCaseMs === null
          ? "with no limit on its time"
          : `and takes at most ${durationText(worstCaseMs)}`}
        .{" "}
        {perChild.map(({ node, workflow = "item", rootExecutions: more }) => (
          <span key={`${node} ${workflow}`}>
            {more === undefined
              ? `Each child of ${node} adds its own calls. `
              : `Each ${workflow} of ${node} adds ${more}. `}
          </span>
        ))}
      </p>
      <div className="wide">
        <table>
          <thead>
            <tr>
              {["Stage", "Runs", "Calls", "Reads", "Attempts", "At most"].map((title) => (
                <th key={title} scope="col">
                  {title}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {cost.nodes.flatMap(stagesOf).map((stage) => (
              <tr key={stage.name}>
                <td>{stage.name}</td>
                <td>{stage.kind}</td>
                <td>{stage.rootExecutions}</td>
                <td>{stage.reads.includes("*") ? "everything" : stage.reads.join(", ")}</td>
                <td>{stage.attempts === null ? "computed" : stage.attempts}</td>
                <td>{stage.worstCaseMs === null ? "no limit" : durationText(stage.worstCaseMs)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </section>
  );
}

/** A node's own stages, then those of the nodes inside it: it is called as the node is. */
function stagesOf({ name, kind, stages, bodies = [] }: NodeCost): NodeCost["stages"] {
  const isAround = (stage: { name: string }) => bodies.length > 0 && stage.name === name;
  const own = stages.map((stage) => (isAround(stage) ? { ...stage, kind } : stage));
  return [...own, ...bodies.flatMap(({ nodes }) => nodes.flatMap(stagesOf))];
}
