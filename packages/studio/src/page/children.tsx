import type { ListedRun } from "@stepwise/workflow";
import type { Step } from "@stepwise/workflow/react";
import { useEffect, useState } from "react";
import type { ReadResult } from "../data-source.js";
import { Problem } from "./parts.js";
import { goesOn, PlaceOf } from "./place.js";
import { useWatched } from "./studio.js";

/** What is known of a step's children while their list is open. */
export interface Children {
  /** The first of them. */
  readonly runs: readonly ListedRun[];
  /** What each branch or item has done. Absent unless that is known of all of them. */
  readonly steps?: readonly (readonly Step[])[];
}

interface ChildrenProps {
  /** The step's. */
  id: string;
  /** Their steps are read, if they are parts of the workflow that a graph shows. */
  withSteps: boolean;
  onFound: (found: Children) => void;
}

/** Watches the first children of a step, and where each is, while their list is open. */
export function ChildrenOf({ id, withSteps, onFound }: ChildrenProps) {
  const { value, error } = useWatched("runs", { parent: id, cursor: null });
  const [places, setPlaces] = useState<Readonly<Record<string, ReadResult<"place">>>>({});
  const [steps, setSteps] = useState<Readonly<Record<string, readonly Step[] | undefined>>>({});
  const placed = value?.page.map((run) => {
    const at = goesOn(run) ? places[run.runId] : undefined;
    return at?.path ? { ...run, at } : run;
  });
  const parts = value?.page.filter(({ within }) => withSteps && within !== undefined) ?? [];
  useEffect(() => {
    if (placed === undefined) return;
    const known = parts.flatMap(({ runId }) => {
      const found = steps[runId];
      return found === undefined ? [] : [found];
    });
    const isWhole = value?.isDone === true && parts.length > 0 && known.length === parts.length;
    onFound({ runs: placed, ...(isWhole && { steps: known }) });
    // Only what is found matters.
  }, [value, places, steps]);
  return (
    <>
      <Problem error={error} />
      {value?.page.filter(goesOn).map(({ runId }) => (
        <PlaceOf
          key={runId}
          runId={runId}
          onPlace={(place = null) => setPlaces((before) => ({ ...before, [runId]: place }))}
        />
      ))}
      {value?.isDone === true &&
        parts.map(({ runId }) => (
          <StepsOf
            key={runId}
            runId={runId}
            onFound={(found) => setSteps((before) => ({ ...before, [runId]: found }))}
          />
        ))}
    </>
  );
}

/** Watches the steps of a branch or an item. Of one that has very many, nothing is told. */
function StepsOf(props: { runId: string; onFound: (steps: readonly Step[] | undefined) => void }) {
  const { runId, onFound } = props;
  const { value } = useWatched("steps", { runId, cursor: null, withoutResults: true });
  // Only what is found matters.
  useEffect(() => onFound(value?.isDone === true ? value.page : undefined), [value]);
  return null;
}
