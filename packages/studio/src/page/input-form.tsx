import type { Value } from "convex/values";
import { useState } from "react";
import type { Field, Shape } from "../input-shape.js";
import { fromText, textOf } from "./parts.js";

/** Asks for a value: field by field if its shape is known, or as JSON. */
export function InputForm({ shape, example }: { shape: Shape; example: Value }) {
  const [isText, setText] = useState(false);
  const fields = shape.kind === "object" ? shape.fields : undefined;
  return (
    <>
      {fields !== undefined && (
        <label className="check">
          <input type="checkbox" checked={isText} onChange={() => setText(!isText)} />
          Write JSON
        </label>
      )}
      {fields !== undefined && !isText ? (
        fields.map((field) => <FieldInput key={field.name} field={field} />)
      ) : (
        <label>
          Input, as JSON
          <textarea
            name="input"
            rows={8}
            defaultValue={textOf(example)}
            required
            spellCheck={false}
          />
        </label>
      )}
    </>
  );
}

const nameOf = ({ name }: Field): string => `field ${name}`;

function FieldInput({ field }: { field: Field }) {
  const { name, shape, isOptional, about } = field;
  const title = [
    shape.kind === "object" || shape.kind === "other" ? `${name}, as JSON` : name,
    about === undefined ? "" : ` (${about})`,
    isOptional ? " (optional)" : "",
  ].join("");
  const common = { name: nameOf(field), required: !isOptional };
  return (
    <label>
      {title}
      <Control shape={shape} isOptional={isOptional} {...common} />
    </label>
  );
}

function Control(props: { shape: Shape; name: string; required: boolean; isOptional: boolean }) {
  const { shape, isOptional, ...common } = props;
  switch (shape.kind) {
    case "string":
      // An empty text is a value too.
      return <input name={common.name} />;
    case "number":
      return <input type="number" step="any" {...common} />;
    case "int64":
      return <input type="number" step="1" {...common} />;
    case "boolean":
    case "choice":
      return (
        <select {...common}>
          {isOptional && <option value="">none</option>}
          {valuesOf(shape).map((value, index) => (
            <option key={index} value={index}>
              {typeof value === "string" ? value : String(value)}
            </option>
          ))}
        </select>
      );
    default: {
      const example = shape.kind === "other" && !isOptional ? textOf(shape.example) : "";
      return <textarea rows={3} defaultValue={example} spellCheck={false} {...common} />;
    }
  }
}

const valuesOf = (shape: Shape): readonly Value[] =>
  shape.kind === "choice" ? shape.values : [false, true];

/** What somebody has filled in. @throws if it is no JSON where that is asked for */
export function inputOf(form: FormData, shape: Shape): Value {
  const text = form.get("input");
  if (text !== null || shape.kind !== "object") return fromText(text);
  return Object.fromEntries(
    shape.fields.flatMap((field) => {
      const given = String(form.get(nameOf(field)) ?? "");
      if (given === "" && field.isOptional) return [];
      return [[field.name, valueOf(given, field.shape)]];
    }),
  );
}

function valueOf(text: string, shape: Shape): Value {
  switch (shape.kind) {
    case "string":
      return text;
    case "number":
      return Number(text);
    case "int64":
      return BigInt(text);
    case "boolean":
    case "choice":
      return valuesOf(shape)[Number(text)] ?? null;
    default:
      return fromText(text);
  }
}
