import type { Doing } from "@stepwise/workflow";
import { badgeOf } from "@stepwise/workflow/react";
import { useEffect, useState } from "react";
import type { ReadResult, RunsFilter } from "../data-source.js";
import { useStudio } from "./studio.js";

const DOING = [
  "stalled",
  "queued",
  "retrying",
  "waitingForEvent",
  "sleeping",
  "running",
] as const satisfies Doing[];

/** Says whether the text of an address is something that runs do. */
export const isDoing = (text: string): text is Doing => DOING.includes(text as Doing);

/** How many runs have failed, or do what; each lists these runs, or all if it does so already. */
export function Chips({ state, doing }: { state: string; doing: string }) {
  return (
    <nav className="chips" aria-label="Runs by what they do">
      <Chip of={{ state: "failed" }} isHere={doing === "" && state === "failed"} />
      {DOING.map((each) => (
        <Chip key={each} of={{ doing: each }} isHere={doing === each} />
      ))}
    </nav>
  );
}

function Chip({ of, isHere }: { of: { state: "failed" } | { doing: Doing }; isHere: boolean }) {
  const value = useCount(of);
  const { tone, sign, label } = badgeOf("state" in of ? of.state : of.doing);
  return (
    <a
      className="badge"
      href={isHere ? "#/runs" : `#/runs?${new URLSearchParams(of).toString()}`}
      aria-current={isHere ? "true" : undefined}
      data-tone={value?.count === 0 ? "stopped" : tone}
    >
      <span aria-hidden>{sign}</span> {label}{" "}
      <b>
        {value?.count}
        {value?.isMore && "+"}
      </b>
    </a>
  );
}

/** Counts are read again at most so often, in ms, and only after something has changed. */
const PAUSE_MS = 5_000;

function useCount(of: RunsFilter): ReadResult<"count"> | undefined {
  const { server } = useStudio();
  const [value, setValue] = useState<ReadResult<"count">>();
  const key = JSON.stringify(of);
  useEffect(() => {
    let pause: ReturnType<typeof setTimeout> | undefined;
    // What cannot be counted now keeps its last count: the list says what is wrong.
    const count = () => void server.read("count", of).then(setValue, () => {});
    const changed = () => {
      pause ??= setTimeout(() => {
        pause = undefined;
        count();
      }, PAUSE_MS);
    };
    count();
    const stop = server.onChange(changed);
    return () => {
      stop();
      clearTimeout(pause);
    };
    // What is counted is the same while its text is.
  }, [server, key]);
  return value;
}
