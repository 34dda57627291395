import type { Doing } from "@stepwise/workflow";
import { badgeOf } from "@stepwise/workflow/react";
import { DOING } from "../data-source.js";
import { useReadAgain } from "./studio.js";

/** Says whether the text of an address is something that runs do. */
export const isDoing = (text: string): text is Doing => DOING.includes(text as Doing);

/**
 * Shows how many runs have failed, or do what; each lists these runs, or all if it does so already.
 */
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
  const { value } = useReadAgain("count", of);
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
