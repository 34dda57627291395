import { WorkflowGraph } from "@stepwise/workflow/react";
import { namesInPath } from "@stepwise/workflow/rules";
import { CostTable } from "./cost-table.js";
import { ErrorBoundary } from "./error-boundary.js";
import { RunList } from "./run-list.js";
import type { Plans } from "./plans.js";
import { useStudio, useTitle, useWatched } from "./studio.js";

/** The compiled workflows: their graphs, costs, and what a deploy would do to runs in flight. */
export function WorkflowsPage({ name }: { name: string | undefined }) {
  const { plans } = useStudio().about;
  useTitle(name ?? "Workflows");
  if (plans === undefined || plans.workflows.length === 0)
    return (
      <main>
        <h1>Workflows</h1>
        <p className="empty">
          There are none. A workflow is an exported constant in a file whose name ends in
          .workflow.ts.
        </p>
      </main>
    );
  const shown = plans.workflows.find((each) => each.name === (name ?? plans.workflows[0]?.name));
  return (
    <main className="split">
      <nav aria-label="Workflows">
        {plans.workflows.map((each) => (
          <a
            key={each.name}
            href={`#/workflows/${each.name}`}
            aria-current={each === shown ? "page" : undefined}
          >
            {each.name}
          </a>
        ))}
      </nav>
      {shown === undefined ? (
        <p className="empty" role="alert">
          There is no workflow {JSON.stringify(name)}. It may have been renamed or removed.
        </p>
      ) : (
        <ShownWorkflow plans={plans} shown={shown} />
      )}
    </main>
  );
}

function ShownWorkflow({ plans, shown }: { plans: Plans; shown: Plans["workflows"][number] }) {
  const cost = plans.costs.find((each) => each.name === shown.name);
  return (
    <section>
      <h1>{shown.name}</h1>
      <p>
        <code>{shown.file}</code> · <a href={`#/runs?workflow=${shown.name}`}>its runs</a>
      </p>
      <ErrorBoundary key={`changes of ${shown.name}`} what="The changes">
        <Verdict plans={plans} workflow={shown.name} />
      </ErrorBoundary>
      <h2>Plan</h2>
      <ErrorBoundary key={`graph of ${shown.name}`} what="The graph">
        <WorkflowGraph graph={plans} workflow={shown.name} />
      </ErrorBoundary>
      {cost !== undefined && (
        <ErrorBoundary key={`costs of ${shown.name}`} what="The costs">
          <CostTable cost={cost} />
        </ErrorBoundary>
      )}
    </section>
  );
}

/** Shows what `check` says of a workflow, and whether the source runs this version of it. */
function Verdict({ plans, workflow }: { plans: Plans; workflow: string }) {
  const deployed = useWatched("workflows", {}).value?.find(({ name }) => name === workflow);
  const { from, hint } = plans.against;
  const changes = plans.changes.filter((each) => each.workflow === workflow);
  const stopping = changes.filter(({ compatibility }) => compatibility === "stops");
  // Only the deployed names of nodes can be asked for. Those inside a node follow a dot.
  const isDeployed = (node: string) => deployed?.nodes.includes(namesInPath(node)[0]!) === true;
  const isCompared = deployed?.plan === plans.comparedHashes[workflow];
  const isSame = deployed?.plan === plans.hashes[workflow];
  return (
    <section aria-label="Changes">
      <h2>Changes</h2>
      <p>
        {deployed === undefined
          ? "This workflow is not deployed."
          : isSame
            ? "The deployed plan is the one in your code."
            : "The deployed plan is not the one in your code."}{" "}
        {deployed !== undefined && (
          <a href={`#/runs?workflow=${workflow}&outdated=true`}>Runs of older plans</a>
        )}
      </p>
      <p>
        Compared with {from || "nothing"}
        {deployed === undefined || plans.comparedHashes[workflow] === undefined
          ? ""
          : isCompared
            ? ", which is deployed"
            : ", which is not deployed"}
        :{" "}
        {stopping.length > 0
          ? `${stopping.length} of ${changes.length} changes stop runs in flight.`
          : changes.length > 0
            ? "runs in flight go on."
            : "no changes."}{" "}
        {hint}
        {deployed !== undefined && !isSame && !isCompared && (
          <>
            To see what a deploy would stop, open the studio with <code>--against</code> and the
            commit that is deployed.
          </>
        )}
      </p>
      <ul>
        {changes.map(({ node, compatibility, message, hint: what }) => (
          <li key={`${node} ${message}`} className={`change ${compatibility}`}>
            {node !== undefined && <strong>{node}: </strong>}
            {message} {what}{" "}
            {compatibility === "stops" && node !== undefined && isDeployed(node) && (
              <RunList filter={{ workflow, node }} empty="No run is there now." />
            )}
          </li>
        ))}
      </ul>
    </section>
  );
}
