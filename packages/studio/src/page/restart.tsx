import { namesInPath } from "@stepwise/workflow/rules";
import { useState } from "react";
import type { ShownRun, WorkflowSummary } from "../data-source.js";
import { type Shape, unknown } from "../input-shape.js";
import { inputOf } from "./input-form.js";
import { LastInput } from "./last-input.js";
import { ActionButton } from "./parts.js";
import { useStudio } from "./studio.js";

/** Restarts a run: from where it failed, from another node or iteration, or from the beginning. */
export function Restart({
  status,
  known,
}: {
  status: ShownRun;
  known: readonly WorkflowSummary[];
}) {
  const { server, about } = useStudio();
  const { runId, workflow } = status;
  const { nodes = [], input: shape = unknown } = known.find(({ name }) => name === workflow) ?? {};
  const [at] = "error" in status ? namesInPath(status.error.node) : [];
  const failed = nodes.find((name) => name === at);
  const [chosen, setChosen] = useState<string>();
  const from = chosen ?? failed ?? "";
  const graph = about.plans?.workflows.find(({ name }) => name === workflow);
  // What is deployed may have a node that the code has no more.
  const { shape: drawn = "loop" } = graph?.nodes.find(({ name }) => name === from) ?? {};
  return (
    <ActionButton
      label="Restart"
      question="Restart the run?"
      act={async (form) => {
        const isEdited = form.has("edits");
        if (isEdited && !form.has("loaded")) throw new Error("The input is not loaded yet.");
        const input = isEdited ? { input: inputOf(form, shape), isEdited } : {};
        const iteration = Number(form.get("iteration"));
        const where = { ...(from && { from }), ...(iteration > 0 && { iteration }) };
        await server.write("restart", { runId, ...where, ...input });
      }}
    >
      <label>
        From
        <select value={from} onChange={({ target }) => setChosen(target.value)}>
          {failed !== undefined && <option value={failed}>{failed}, where it failed</option>}
          <option value="">the beginning</option>
          {nodes
            .filter((name) => name !== failed)
            .map((name) => (
              <option key={name}>{name}</option>
            ))}
        </select>
      </label>
      {from !== "" && drawn === "loop" && (
        <label>
          Iteration
          <input name="iteration" type="number" min={1} placeholder="the one that failed" />
        </label>
      )}
      <EditedInput runId={runId} shape={shape} />
    </ActionButton>
  );
}

/** Asks for another input than the run's, if somebody wants that. */
function EditedInput({ runId, shape }: { runId: string; shape: Shape }) {
  const [isEdited, setEdited] = useState(false);
  return (
    <>
      <label className="check">
        <input
          type="checkbox"
          name="edits"
          checked={isEdited}
          onChange={() => setEdited(!isEdited)}
        />
        Edit the input
      </label>
      {isEdited && <InputToEdit runId={runId} shape={shape} />}
    </>
  );
}

function InputToEdit({ runId, shape }: { runId: string; shape: Shape }) {
  return (
    <>
      <p>
        Nodes before the one you restart from keep their results from the old input. The schema
        parses what you enter again.
      </p>
      <LastInput runId={runId} shape={shape} />
    </>
  );
}
