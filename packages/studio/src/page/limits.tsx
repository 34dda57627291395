import type { ListedLimit, SeenLimit } from "@stepwise/workflow";
import { type InputHTMLAttributes, useEffect, useRef } from "react";
import type { LimitArgs } from "../data-source.js";
import { ActionButton, Ago, cut, Time } from "./parts.js";
import { useReadAgain, useStudio } from "./studio.js";

/** The name of the limit that all steps share. */
const POOL = "maxParallelism";
const MOST_SLOTS = 200;

/**
 * Shows how many run and wait for each limit and its keys, who set what, and the buttons that do.
 */
export function Limits() {
  const { value = [], again } = useReadAgain("limits", {});
  return value.length === 0 ? null : (
    <section aria-labelledby="limits">
      <h2 id="limits">Limits</h2>
      <ul className="limits">
        {value.map((limit) => (
          <li key={limit.name}>
            <OfLimit of={limit} limit={limit} onSaid={again} />
            <Keys of={limit} onSaid={again} />
          </li>
        ))}
      </ul>
    </section>
  );
}

function Keys({ of, onSaid }: { of: ListedLimit; onSaid: () => void }) {
  const { name, keys, perKey } = of;
  return (
    <>
      {keys.length > 0 && (
        <ul aria-label={`Keys of ${name}`}>
          {keys.map((each) => (
            <li key={each.key}>
              <OfLimit of={each} limit={of} onSaid={onSaid} />
            </li>
          ))}
        </ul>
      )}
      {perKey !== undefined && <OtherKey of={of} onSaid={onSaid} />}
    </>
  );
}

interface Shown {
  of: SeenLimit;
  /** What a key is of, or itself. */
  limit: SeenLimit;
  onSaid: () => void;
}

/**
 * Returns what was set for this limit or key alone: what a limit sets for its keys is ended there.
 */
function ownOf({ of, limit }: Pick<Shown, "of" | "limit">): Pick<SeenLimit, "override" | "paused"> {
  const own = <Field extends "override" | "paused">(field: Field) =>
    of !== limit && of[field]?.at === limit[field]?.at ? undefined : of[field];
  return { override: own("override"), paused: own("paused") };
}

/** One limit or key: who runs and waits, its numbers, and the buttons that change them. */
function OfLimit({ of, limit, onSaid }: Shown) {
  const { name, key, running, waiting, waitingIsAtLeast, oldest, total, perKey } = of;
  const most = key === undefined ? total : perKey;
  const isFull = most !== undefined && waiting > 0 && running >= most;
  return (
    <div className="limit">
      <div>
        <strong>{cut(key ?? name, 200)}</strong>{" "}
        <span className={isFull ? "problem" : undefined}>
          {running}
          {most !== undefined && ` of ${most}`} running
          {perKey !== undefined && key === undefined && `, ${perKey} for each key`}, {waiting}
          {waitingIsAtLeast && " or more"} waiting
          {oldest !== undefined && (
            <>
              , the first <Ago at={oldest} />
            </>
          )}
        </span>
        <Said of={of} limit={limit} />
      </div>
      <Buttons of={of} limit={limit} onSaid={onSaid} />
    </div>
  );
}

const numbersText = ({ total, perKey }: { total?: number; perKey?: number }): string =>
  [total !== undefined && `${total} in all`, perKey !== undefined && `${perKey} for each key`]
    .filter(Boolean)
    .join(", ");

/** Shows where the numbers come from, if not from the code alone, and who has paused it. */
function Said({ of, limit }: Pick<Shown, "of" | "limit">) {
  const { override, paused } = ownOf({ of, limit });
  const code = numbersText(of.asked);
  return (
    <>
      {override !== undefined && (
        <p className="why">
          Overridden <By of={override} />. The code says {code || "nothing"}.
        </p>
      )}
      {of.origin === "config" && of === limit && (
        <p className="why">Set by config.update. The code says {code}.</p>
      )}
      {paused !== undefined && (
        <p className="why paused">
          Paused <By of={paused} />.
        </p>
      )}
    </>
  );
}

function By({ of: { by, at, until } }: { of: { by?: string; at: number; until?: number } }) {
  return (
    <>
      {by !== undefined && `by ${by} `}
      <Ago at={at} />,{" "}
      {until === undefined ? (
        "until somebody ends it"
      ) : (
        <>
          until <Time at={until} />
        </>
      )}
    </>
  );
}

function Buttons({ of, limit, onSaid }: Shown) {
  const { server } = useStudio();
  const { override, paused } = ownOf({ of, limit });
  const { name, key } = of;
  const which: LimitArgs = { name, ...(key !== undefined && { key }) };
  const called = cut(key === undefined ? name : `${name}: ${key}`, 100);
  return (
    <div className="buttons">
      <ActionButton
        label={`Change ${called}`}
        text="Change"
        question={`How many steps of ${called} may run at once?`}
        act={async (form) =>
          await server.write("overrideLimit", { ...which, ...saidIn(form) }).then(onSaid)
        }
      >
        <Numbers of={of} />
      </ActionButton>
      {override !== undefined && (
        <ActionButton
          label={`Reset ${called}`}
          text="Reset"
          question={`Go back to the code's numbers for ${called}?`}
          act={async () => await server.write("resetLimit", which).then(onSaid)}
        />
      )}
      {paused === undefined ? (
        <ActionButton
          label={`Pause ${called}`}
          text="Pause"
          question={`Start no more steps of ${called}?`}
          act={async (form) =>
            await server.write("pauseLimit", { ...which, ...saidIn(form) }).then(onSaid)
          }
        >
          <p>Running steps end as usual. New ones wait.</p>
          <Lasts />
        </ActionButton>
      ) : (
        <ActionButton
          label={`Resume ${called}`}
          text="Resume"
          question={`Let steps of ${called} start again?`}
          act={async () => await server.write("resumeLimit", which).then(onSaid)}
        />
      )}
    </div>
  );
}

/** Asks for a key that neither runs nor waits now. */
function OtherKey({ of, onSaid }: Pick<Shown, "of" | "onSaid">) {
  const { server } = useStudio();
  const { name } = of;
  return (
    <ActionButton
      label={`Change another key of ${name}`}
      text="Change another key"
      question={`How many steps of another key of ${name} may run at once?`}
      act={async (form) => {
        const which = { name, key: String(form.get("key")) };
        await server.write("overrideLimit", { ...which, ...saidIn(form) }).then(onSaid);
      }}
    >
      <label>
        Key
        <input name="key" required />
      </label>
      <Numbers of={{ name, key: "", ...(of.perKey !== undefined && { perKey: of.perKey }) }} />
    </ActionButton>
  );
}

/** Asks for the numbers that a limit or a key has, and for how long they hold. */
function Numbers({
  of,
}: {
  of: Pick<SeenLimit, "name" | "key" | "total" | "perKey" | "override">;
}) {
  const fields = (["total", "perKey"] as const).filter((field) => of[field] !== undefined);
  const labels = {
    total: "In total",
    perKey: of.key === undefined ? "For each key" : "For this key",
  };
  return (
    <>
      <p>This overrides your code at once and across deploys.</p>
      {fields.map((field) => (
        <label key={field}>
          {of.name === POOL ? POOL : labels[field]}
          <NumberField
            name={field}
            max={of.name === POOL ? MOST_SLOTS : undefined}
            shown={fields.length === 1 ? of[field] : of.override?.[field]}
            placeholder={`${of[field]}, as it is`}
            required={fields.length === 1}
          />
        </label>
      ))}
      <Lasts />
    </>
  );
}

type NumberFieldProps = InputHTMLAttributes<HTMLInputElement> & { shown: number | undefined };

/** A field with a number that others may change. What somebody has typed there stays. */
function NumberField({ shown, ...of }: NumberFieldProps) {
  const field = useRef<HTMLInputElement>(null);
  const before = useRef(shown);
  useEffect(() => {
    const input = field.current!;
    if (input.value === String(before.current ?? "")) input.value = String(shown ?? "");
    before.current = shown;
  }, [shown]);
  return <input ref={field} type="number" min={1} defaultValue={shown} {...of} />;
}

const LASTS = ["15 minutes", "1 hour", "8 hours", "1 day", "7 days"];

function Lasts() {
  return (
    <label>
      Holds
      <select name="lasts">
        <option value="">until somebody ends it</option>
        {LASTS.map((each) => (
          <option key={each} value={each}>
            for {each}
          </option>
        ))}
      </select>
    </label>
  );
}

/** Returns what a dialog sets for a limit. An empty field sets nothing. */
function saidIn(form: FormData) {
  const text = (name: string) => String(form.get(name) ?? "");
  const [total, perKey, lasts] = [text("total"), text("perKey"), text("lasts")];
  return {
    ...(total !== "" && { total: Number(total) }),
    ...(perKey !== "" && { perKey: Number(perKey) }),
    ...(lasts !== "" && { lasts }),
  };
}
