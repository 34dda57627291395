import type { RunState, TagValue } from "@stepwise/workflow";
import { type ReactNode, type SyntheticEvent, useEffect, useRef, useState } from "react";
import { type RunsArgs, STATES, type WorkflowSummary } from "../data-source.js";
import { unknown } from "../input-shape.js";
import { BulkButtons, BulkList } from "./bulk.js";
import { Chips, isDoing } from "./chips.js";
import { ErrorBoundary } from "./error-boundary.js";
import { InputForm, inputOf } from "./input-form.js";
import { ActionButton } from "./parts.js";
import { RunList } from "./run-list.js";
import { goTo, useStudio, useTitle, useWatched } from "./studio.js";

/** The runs of the top level, the newest first. The filter stands in the address. */
export function RunsPage({ query }: { query: URLSearchParams }) {
  const { about, server } = useStudio();
  const workflows = useWatched("workflows", {});
  useTitle("Runs");
  const {
    workflow = "",
    state = "",
    doing = "",
    node = "",
    key = "",
    tag = "",
    text = "",
    ...time
  } = Object.fromEntries(query);
  const nodes = about.plans?.workflows.find(({ name }) => name === workflow)?.nodes ?? [];
  const filter = {
    workflow: workflow || undefined,
    state: isState(state) ? state || undefined : undefined,
    doing: isDoing(doing) ? doing : undefined,
    node: node || undefined,
    key: key || undefined,
    tag: tagOf(tag),
    text: text || undefined,
    parent: query.get("parent") || undefined,
    since: timeOf(time["since"]),
    until: timeOf(time["until"]),
    outdated: query.has("outdated") || undefined,
  };
  const change = (name: string, value: string) => {
    // The page may not have been shown yet after a change just before this one.
    const changed = new URLSearchParams(location.hash.split("?")[1]);
    if (value === "") changed.delete(name);
    else changed.set(name, value);
    for (const other of WITHOUT[name] ?? []) changed.delete(other);
    location.hash = `#/runs?${changed.toString()}`;
  };
  const search = (text: string) => {
    change("text", text);
    const runId = text.trim();
    if (runId === "") return;
    // What is no id, or cannot be asked for now, is only searched for.
    const found = server.read("run", { runId }).then(
      (run) => (run === null ? undefined : `#/runs/${runId}`),
      () => undefined,
    );
    void goTo(found);
  };
  return (
    <main>
      <div className="head">
        <h1>Runs</h1>
        <StartButton key={workflow} workflow={workflow} all={workflows.value ?? []} />
      </div>
      <ErrorBoundary what="The counts">
        <Chips {...{ state, doing }} />
      </ErrorBoundary>
      <form className="filter" onSubmit={(event) => event.preventDefault()}>
        <Choice name="Workflow" value={workflow} onChange={(value) => change("workflow", value)}>
          {(workflows.value ?? []).map(({ name }) => name)}
        </Choice>
        <Choice name="State" value={state} onChange={(value) => change("state", value)}>
          {STATES}
        </Choice>
        <TextFilter name="Search" value={text} placeholder="key, id or error" onChange={search} />
        <MoreFilters areUsed={[node, key, tag, time["since"], time["until"]].some(Boolean)}>
          <Choice
            name="At node"
            value={node}
            isDisabled={workflow === ""}
            onChange={(value) => change("node", value)}
          >
            {nodes.map(({ name }) => name)}
          </Choice>
          <TextFilter
            key={`key of ${workflow}`}
            name="Key begins with"
            value={key}
            disabled={workflow === ""}
            placeholder={workflow === "" ? "choose a workflow" : ""}
            onChange={(value) => change("key", value)}
          />
          <TextFilter
            name="Tag"
            value={tag}
            placeholder="org=acme"
            onChange={(value) => change("tag", value)}
          />
          {(["since", "until"] as const).map((name) => (
            <label key={name}>
              Created {name}
              <input
                type="datetime-local"
                value={time[name] ?? ""}
                onChange={({ target }) => change(name, target.value)}
              />
            </label>
          ))}
        </MoreFilters>
        {(["outdated", "parent"] as const).map(
          (name) =>
            filter[name] !== undefined && (
              <button key={name} type="button" onClick={() => change(name, "")}>
                {name === "parent" ? "Children of a run" : "Of older plans"} ×
              </button>
            ),
        )}
      </form>
      {isState(state) ? (
        <>
          <BulkButtons filter={filter} />
          <ErrorBoundary what="What was done to many runs">
            <BulkList />
          </ErrorBoundary>
          <ErrorBoundary key={JSON.stringify(filter)} what="The list">
            <RunList
              filter={filter}
              empty={
                query.size === 0 ? undefined : (
                  <>
                    No runs. Change the filter, or <a href="#/runs">show all runs</a>.
                  </>
                )
              }
            />
          </ErrorBoundary>
        </>
      ) : (
        <p className="empty" role="alert">
          There is no state {JSON.stringify(state)}. Choose one above, or{" "}
          <a href="#/runs">show all runs</a>.
        </p>
      )}
    </main>
  );
}

const isState = (state: string): state is RunState | "" =>
  state === "" || STATES.includes(state as RunState);

/** What cannot be asked for together with a filter. */
const WITHOUT: Readonly<Record<string, readonly string[]>> = {
  workflow: ["node", "key", "outdated"],
  node: ["key", "parent", "doing", "tag"],
  key: ["node", "parent", "doing", "tag"],
  tag: ["node", "key", "parent", "doing"],
};

/** The tag of a field of the page: `org=acme`, `seats=3`, `isLarge=true`; `zip="123"` is a text. */
function tagOf(text: string): RunsArgs["tag"] {
  const [, name = "", value = ""] = /^\s*(.+?)\s*=\s*(.*?)\s*$/.exec(text) ?? [];
  if (name === "") return undefined;
  const isWord = /^(?:true|false|-?(?:0|[1-9]\d*)(?:\.\d+)?|"[^"\\]*")$/.test(value);
  return { [name]: isWord ? (JSON.parse(value) as TagValue) : value };
}

/** The time of a field of the page, in ms since the epoch. */
function timeOf(text: string | undefined): number | undefined {
  const time = new Date(text ?? "").getTime();
  return Number.isNaN(time) ? undefined : time;
}

/** Starts a run, with an input of the workflow's form to fill in. */
function StartButton({ workflow, all }: { workflow: string; all: readonly WorkflowSummary[] }) {
  const { server } = useStudio();
  const [chosen, setChosen] = useState(workflow);
  const name = chosen || (all[0]?.name ?? "");
  const found = all.find((each) => each.name === name);
  const { input: shape = unknown, example = {} } = found ?? {};
  return (
    <ActionButton
      label="Start a run"
      question="Start a run"
      tone="primary"
      // While it is open, another workflow that comes first is not chosen instead.
      onOpen={() => setChosen(name)}
      act={async (form) => {
        const key = String(form.get("key"));
        const input = inputOf(form, shape);
        const of = { workflow: name, input, ...(key === "" ? {} : { key }) };
        await goTo(server.write("start", of).then((runId) => `#/runs/${runId}`));
      }}
    >
      <label>
        Workflow
        <select value={name} onChange={({ target }) => setChosen(target.value)} required>
          {all.map((each) => (
            <option key={each.name}>{each.name}</option>
          ))}
        </select>
      </label>
      {found !== undefined && <InputForm key={name} shape={shape} example={example} />}
      <label>
        Key (optional): the same key gives the same run
        <input name="key" />
      </label>
    </ActionButton>
  );
}

/** Filters that are seldom needed. Those in use are shown. */
function MoreFilters({ areUsed, children }: { areUsed: boolean; children: ReactNode }) {
  const [isOpen, setOpen] = useState(areUsed);
  return (
    <details open={isOpen || areUsed} onToggle={({ currentTarget: { open } }) => setOpen(open)}>
      <summary>More filters</summary>
      <div className="filter">{children}</div>
    </details>
  );
}

/** A text that is taken over when Enter is pressed or the field is left. */
function TextFilter(props: {
  name: string;
  value: string;
  disabled?: boolean;
  placeholder: string;
  onChange: (value: string) => void;
}) {
  const { name, value, onChange, ...given } = props;
  const field = useRef<HTMLInputElement>(null);
  const taken = useRef(value);
  // Another one would lose the focus. What was typed since it was taken stays.
  useEffect(() => {
    if (value !== taken.current) field.current!.value = value;
    taken.current = value;
  }, [value]);
  const take = ({ currentTarget: { value: text } }: SyntheticEvent<HTMLInputElement>) => {
    if (text === value) return;
    taken.current = text;
    onChange(text);
  };
  return (
    <label>
      {name}
      <input
        ref={field}
        defaultValue={value}
        {...given}
        onBlur={take}
        onKeyDown={(event) => event.key === "Enter" && take(event)}
      />
    </label>
  );
}

function Choice(props: {
  name: string;
  value: string;
  /** Says whether a workflow must be chosen first. */
  isDisabled?: boolean;
  onChange: (value: string) => void;
  children: readonly string[];
}) {
  return (
    <label>
      {props.name}
      <select
        value={props.value}
        disabled={props.isDisabled}
        onChange={({ target }) => props.onChange(target.value)}
      >
        <option value="">{props.isDisabled === true ? "choose a workflow" : "any"}</option>
        {props.children.map((each) => (
          <option key={each}>{each}</option>
        ))}
      </select>
    </label>
  );
}
