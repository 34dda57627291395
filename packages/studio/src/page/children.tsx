import type { ListedRun } from "@stepwise/workflow";
import { useEffect, useState } from "react";
import type { ReadResult } from "../data-source.js";
import { Problem } from "./parts.js";
import { goesOn, PlaceOf } from "./place.js";
import { useWatched } from "./studio.js";

/** Watches the first children of a step, and where each is, while their list is open. */
export function ChildrenOf({ id, onPage }: { id: string; onPage: (page: ListedRun[]) => void }) {
  const { value, error } = useWatched("runs", { parent: id, cursor: null });
  const [places, setPlaces] = useState<Readonly<Record<string, ReadResult<"place">>>>({});
  const placed = value?.page.map((run) => {
    const at = goesOn(run) ? places[run.runId] : undefined;
    return at?.path ? { ...run, at } : run;
  });
  useEffect(() => {
    if (placed !== undefined) onPage(placed);
    // Only what is found matters.
  }, [value, places]);
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
    </>
  );
}
