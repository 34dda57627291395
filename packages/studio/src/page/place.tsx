import type { ListedRun } from "@stepwise/workflow";
import { useEffect } from "react";
import type { ReadResult } from "../data-source.js";
import { useWatched } from "./studio.js";

/** Says whether a run may be somewhere: one that has not begun may wait for its turn. */
export const goesOn = ({ state }: Pick<ListedRun, "state">): boolean =>
  state === "pending" || state === "running" || state === "compensating";

/** Watches where a run is while its row is shown. */
export function PlaceOf(props: { runId: string; onPlace: (place?: ReadResult<"place">) => void }) {
  const { runId, onPlace } = props;
  const { value } = useWatched("place", { runId });
  // Only what is found matters.
  useEffect(() => onPlace(value), [value]);
  return null;
}
