import { WorkflowGraph } from "@stepwise/workflow/react";
import { useStudio } from "./studio.js";

/** The compiled workflows: their graphs, what they cost, and what a deploy would do to runs in flight. */
export function WorkflowsPage({ name }: { name: string | undefined }) {
  const { plans } = useStudio().about;
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
  const shown = plans.workflows.find((each) => each.name === name) ?? plans.workflows[0]!;
  const cost = plans.costs.find((each) => each.name === shown.name);
  const changes = plans.changes.filter((each) => each.workflow === shown.name);
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
      <section>
        <h1>{shown.name}</h1>
        <p>
          <code>{shown.file}</code> · <a href={`#/runs?workflow=${shown.name}`}>its runs</a>
          {cost !== undefined && (
            <>
              {" "}
              · {cost.isAtMost ? "at most " : ""}
              {cost.rootExecutions} function calls a run
            </>
          )}
        </p>
        {changes.length > 0 && (
          <section>
            <h2>Since the main branch</h2>
            <ul>
              {changes.map(({ node, compatibility, message, hint }) => (
                <li key={`${node} ${message}`} className={`change ${compatibility}`}>
                  {node !== undefined && <strong>{node}: </strong>}
                  {message} {hint}
                </li>
              ))}
            </ul>
          </section>
        )}
        <WorkflowGraph graph={plans} workflow={shown.name} />
      </section>
    </main>
  );
}
