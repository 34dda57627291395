import type { ListedRun } from "@stepwise/workflow";
import { useEffect } from "react";
import type { ReadResult } from "../data-source.js";
import { useWatched } from "./studio.js";

export const goesOn = ({ state }: ListedRun): boolean =>
  state === "running" || state === "compensating";

/** Watches where a run is while its row is shown. */
export function PlaceOf(props: { runId: string; onPlace: (place?: ReadResult<"place">) => void }) {
  const { runId, onPlace } = props;
  const { value } = useWatched("place", { runId });
  // Only what is found matters.
  useEffect(() => onPlace(value), [value]);
  return null;
}
