import {
  Fragment,
  useId,
  useLayoutEffect,
  useRef,
  useState,
  useSyncExternalStore,
  type FormEvent,
  type ReactNode,
  type RefObject,
} from "react";
import type { ListedRun } from "@stepwise/workflow";
import { badgeOfRun } from "@stepwise/workflow/react";
import { jsonOf } from "@stepwise/workflow/rules";
import { convexToJson, jsonToConvex, type JSONValue, type Value } from "convex/values";

/** A value as JSON, as Convex writes it. */
export function Json({ title, value }: { title: string; value: unknown }) {
  if (value === undefined) return null;
  return (
    <section className="json">
      <h3>
        {title} <Copy text={textOf(value)} />
      </h3>
      <pre tabIndex={0}>{cut(textOf(value))}</pre>
    </section>
  );
}

/** Copies a text whole. */
export function Copy({ text }: { text: string }) {
  const [isDone, setDone] = useState(false);
  const copy = async () => {
    await navigator.clipboard.writeText(text);
    setDone(true);
  };
  return (
    <button
      type="button"
      className="copy"
      onClick={() => void copy()}
      onBlur={() => setDone(false)}
    >
      {isDone ? "Copied" : "Copy"}
    </button>
  );
}

/** More is cut off: the page stays fast, and the whole value is in the app's data. */
const SHOWN = 20_000;

export function cut(text: string, length = SHOWN): string {
  const more = text.length - length;
  return inOrder(more > 0 ? `${text.slice(0, length)}\n… and ${more} characters more` : text);
}

/** Writes the characters that turn the direction of a text as JSON does: they hide what it is. */
const inOrder = (text: string): string =>
  text.replaceAll(
    /[\u061C\u200E\u200F\u202A-\u202E\u2066-\u2069]/g,
    (turn) => `\\u${turn.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );

/** A Convex value as text that a person can edit, and back. */
export const textOf = (value: unknown): string =>
  inOrder(JSON.stringify(convexToJson(value as Value), undefined, 2));
/** @param name that of the field, if there are several */
export function fromText(text: unknown, name = ""): Value {
  try {
    return jsonToConvex(jsonOf(String(text)) as JSONValue);
  } catch (cause) {
    const field = name === "" ? "" : `${name}: `;
    throw new Error(`${field}This is not JSON: ${String(cause)}`, { cause });
  }
}

export function Problem({ error }: { error: Error | undefined }) {
  return error === undefined ? null : (
    <p role="alert" className="problem">
      {error.message}
    </p>
  );
}

/** A button that asks before it does something, and says what went wrong. */
export function ActionButton({
  label,
  text = label,
  question,
  tone,
  act,
  onOpen,
  children,
}: {
  label: string;
  /** What stands on it, if beside what tells the rest. */
  text?: string;
  question: string;
  /** Default: neither. */
  tone?: "primary" | "danger";
  act: (form: FormData) => Promise<unknown>;
  /** Is told when the dialog opens. */
  onOpen?: () => void;
  /** Fields of the dialog. */
  children?: ReactNode;
}) {
  const button = useRef<HTMLButtonElement>(null);
  const dialog = useRef<HTMLDialogElement>(null);
  useFocusAfter(button, dialog);
  const title = useId();
  const [error, setError] = useState<Error>();
  const [isBusy, setBusy] = useState(false);
  const [times, setTimes] = useState(0);
  const opened = useRef(0);
  const open = () => {
    opened.current += 1;
    onOpen?.();
    dialog.current?.showModal();
  };
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    if (isBusy) return;
    setBusy(true);
    setError(undefined);
    const asked = opened.current;
    act(new FormData(event.currentTarget))
      .then(() => {
        // Somebody may have left it, and be at the next one.
        if (opened.current !== asked) return;
        dialog.current?.close();
        setTimes((before) => before + 1);
      })
      .catch((thrown: unknown) => setError(thrown as Error))
      .finally(() => setBusy(false));
  };
  return (
    <>
      <button
        ref={button}
        type="button"
        className={tone}
        aria-label={text === label ? undefined : label}
        onClick={open}
      >
        {text}
      </button>
      <dialog ref={dialog} aria-labelledby={title} onClose={() => setError(undefined)}>
        <form onSubmit={submit}>
          <h2 id={title}>{question}</h2>
          {/* What was filled in stays until it is done. */}
          <Fragment key={times}>{children}</Fragment>
          <Problem error={error} />
          <div className="buttons">
            <button type="button" onClick={() => dialog.current?.close()}>
              Back
            </button>
            {/* One that is disabled would lose the focus, which then goes to no other button. */}
            <button type="submit" className={tone ?? "primary"} aria-disabled={isBusy}>
              {text}
            </button>
          </div>
        </form>
      </dialog>
    </>
  );
}

/** When a button goes away, as after what it does, its focus goes to the one in its place. */
function useFocusAfter(
  button: RefObject<HTMLButtonElement | null>,
  dialog: RefObject<HTMLDialogElement | null>,
): void {
  useLayoutEffect(() => {
    const [gone, asked] = [button.current!, dialog.current!];
    return () => {
      const { activeElement } = document;
      const group = gone.parentElement;
      if (gone !== activeElement && !asked.contains(activeElement)) return;
      const others = () => [...(group?.querySelectorAll<HTMLElement>(":scope > button") ?? [])];
      const place = others().indexOf(gone);
      setTimeout(() => (others()[place] ?? others().at(-1))?.focus());
    };
  }, [button, dialog]);
}

/** Shows what a run does, or how it has ended, in words, with a sign and a colour. */
export function Badge({ run }: { run: ListedRun }) {
  const { tone, sign, label } = badgeOfRun(run);
  return (
    <span className="badge" data-tone={tone}>
      <span aria-hidden>{sign}</span> {label}
    </span>
  );
}

/** Shows the tags of a run, each as one can be searched for. */
export function Tags({ of }: { of: NonNullable<ListedRun["tags"]> }) {
  return Object.entries(of).map(([name, value]) => (
    <span key={name} className="tag">
      {name}: {cut(String(value), 100)}{" "}
    </span>
  ));
}

const AGO = new Intl.RelativeTimeFormat("en", { style: "short" });
const UNITS = [
  ["day", 86_400_000],
  ["hour", 3_600_000],
  ["minute", 60_000],
  ["second", 1_000],
] as const;

let now = Date.now();
let ticks: ReturnType<typeof setInterval> | undefined;
const clocks = new Set<() => void>();

function tick() {
  now = Date.now();
  for (const tell of clocks) tell();
}

function watchClock(tell: () => void) {
  clocks.add(tell);
  if (clocks.size === 1) {
    tick();
    ticks = setInterval(tick, 1_000);
  }
  return () => {
    clocks.delete(tell);
    if (clocks.size === 0) clearInterval(ticks);
  };
}

/**
 * Shows how long ago something was, such as `5 min. ago`. When exactly is shown on hover. All have
 * one clock: what came later is never shown as longer ago.
 */
export function Ago({ at }: { at: number }) {
  const passed = useSyncExternalStore(watchClock, () => now) - at;
  const [unit, size] =
    UNITS.find((each) => Math.abs(passed) >= each[1]) ?? (["second", 1_000] as const);
  const date = new Date(at);
  return (
    <time dateTime={date.toISOString()} title={date.toLocaleString()}>
      {
        // Of what is newer than the last tick, `-0` says "0 sec. ago", and `0` "in 0 sec.".
        AGO.format(-Math.trunc(passed / size) || -0, unit)
      }
    </time>
  );
}

/** A time of day, with the date unless that is today's. */
export function Time({ at }: { at: number | undefined }) {
  if (at === undefined) return <>–</>;
  const date = new Date(at);
  const isToday = date.toDateString() === new Date().toDateString();
  return (
    <time dateTime={date.toISOString()} title={date.toISOString()}>
      {isToday ? date.toLocaleTimeString() : date.toLocaleString()}
    </time>
  );
}
