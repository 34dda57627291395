import { RunTimeline, useRun, WorkflowGraph } from "@stepwise/workflow/react";
import { useMutation, useQuery } from "convex/react";
import { useState, type FormEvent } from "react";
import { api } from "../convex/_generated/api";
import type { Id } from "../convex/_generated/dataModel";
import graph from "./graph.json";

/** The user's expenses, and the run of the one that is open. */
export function Expenses() {
  const expenses = useQuery(api.expenses.list) ?? [];
  const [open, setOpen] = useState<Id<"expenses">>();
  const shown = expenses.find(({ _id }) => _id === open) ?? expenses[0];
  return (
    <main>
      <h1>Expenses</h1>
      <Submit onSubmitted={setOpen} />
      <ul className="list">
        {expenses.map(({ _id, what, cents, state }) => (
          <li key={_id}>
            <button aria-current={_id === shown?._id} onClick={() => setOpen(_id)}>
              {what} <span>{(cents / 100).toFixed(2)}</span> <em>{state}</em>
            </button>
          </li>
        ))}
      </ul>
      {shown && <Expense key={shown._id} expenseId={shown._id} decides={shown.decides} />}
    </main>
  );
}

function Submit({ onSubmitted }: { onSubmitted: (id: Id<"expenses">) => void }) {
  const submit = useMutation(api.expenses.submit);
  const onSubmit = async (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    const cents = Math.round(100 * Number(form.get("amount")));
    const what = form.get("what");
    if (typeof what === "string") onSubmitted(await submit({ what, cents, manager: "grace" }));
  };
  return (
    <form onSubmit={(event) => void onSubmit(event)}>
      <label>
        What for <input name="what" required defaultValue="A train to Bern" />
      </label>
      <label>
        Amount{" "}
        <input name="amount" type="number" min="0.01" step="0.01" required defaultValue="123" />
      </label>
      <button>Submit</button>
    </form>
  );
}

function Expense({ expenseId, decides }: { expenseId: Id<"expenses">; decides: boolean }) {
  const run = useRun(api.expenses.status, { expenseId });
  const steps = useQuery(api.expenses.timeline, { expenseId }) ?? [];
  return (
    <article aria-label="The approval">
      {decides &&
        "active" in run &&
        run.active.some(({ events }) => events?.includes("decision")) && (
          <Decide expenseId={expenseId} />
        )}
      <RunTimeline run={run} steps={steps} />
      <WorkflowGraph graph={graph} run={run} steps={steps} />
    </article>
  );
}

/** Two buttons for the manager. The mutation asks again who decides: a page may be out of date. */
function Decide({ expenseId }: { expenseId: Id<"expenses"> }) {
  const decide = useMutation(api.expenses.decide);
  const [problem, setProblem] = useState("");
  const answer = (approved: boolean) => {
    decide({ expenseId, approved }).catch((error: unknown) => {
      setProblem(error instanceof Error ? error.message : "The decision was not saved");
    });
  };
  return (
    <p>
      <button onClick={() => answer(true)}>Approve</button>{" "}
      <button onClick={() => answer(false)}>Reject</button> <span role="alert">{problem}</span>
    </p>
  );
}
