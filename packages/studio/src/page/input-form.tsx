import { compareValues, type Value } from "convex/values";
import { useState } from "react";
import { exampleOf, type Field, type Shape } from "../input-shape.js";
import { fromText, textOf } from "./parts.js";

/** Asks for a value: field by field if its shape is known, or as JSON. */
export function InputForm(props: {
  /** What is asked for. Default: an input. */
  title?: string;
  shape: Shape;
  /** What is filled in as JSON. */
  example: Value;
  /** What is filled in field by field. Default: nothing. */
  value?: Value | undefined;
}) {
  const { title = "Input", shape, value, example } = props;
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
        fields.map((field) => (
          <FieldInput key={field.name} field={field} value={fieldOf(value, field.name)} />
        ))
      ) : (
        <label>
          {title}, as JSON
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

/** A field of an object; undefined if there is none. */
const fieldOf = (value: Value | undefined, name: string): Value | undefined =>
  Object.entries(value ?? {}).find(([key]) => key === name)?.[1] as Value | undefined;

const nameOf = ({ name }: Field): string => `field ${name}`;

/** An empty line is no item. */
const linesOf = (text: string): string[] => text.split("\n").filter((line) => line !== "");

/** Returns the shape that a field is asked for in: as JSON if lines cannot say what its list is. */
function askedOf({ shape, isOptional }: Field, value: Value | undefined): Shape {
  if (shape.kind !== "lines" || value === undefined) return shape;
  const areLines =
    Array.isArray(value) &&
    value.every((item) => /^[^\r\n]+$/.test(String(item))) &&
    !(isOptional && value.length === 0);
  return areLines ? shape : { kind: "other", example: [] };
}

const suffixes: Partial<Record<Shape["kind"], string>> = {
  lines: ", one on each line",
  object: ", as JSON",
  other: ", as JSON",
};

function FieldInput({ field, value }: { field: Field; value: Value | undefined }) {
  const { name, isOptional, about } = field;
  const shape = askedOf(field, value);
  const title = [
    `${name}${suffixes[shape.kind] ?? ""}`,
    about === undefined ? "" : ` (${about})`,
    isOptional ? " (optional)" : "",
  ].join("");
  const common = { name: nameOf(field), required: !isOptional };
  return (
    <label>
      {title}
      <Control shape={shape} isOptional={isOptional} value={value} {...common} />
    </label>
  );
}

function Control(props: {
  shape: Shape;
  name: string;
  required: boolean;
  isOptional: boolean;
  value: Value | undefined;
}) {
  const { shape, isOptional, value, ...common } = props;
  const given = value === undefined ? undefined : String(value);
  switch (shape.kind) {
    case "string":
      // An empty text is a value too.
      return <input name={common.name} defaultValue={given} />;
    case "number":
      return <input type="number" step="any" defaultValue={given} {...common} />;
    case "int64":
      return <input type="number" step="1" defaultValue={given} {...common} />;
    case "boolean":
    case "choice":
      return (
        <select defaultValue={indexOf(shape, value)} {...common}>
          {isOptional && <option value="">none</option>}
          {valuesOf(shape).map((value, index) => (
            <option key={index} value={index}>
              {typeof value === "string" ? value : String(value)}
            </option>
          ))}
        </select>
      );
    case "lines":
      // An empty list is a value too.
      return (
        <>
          <input type="hidden" name={`lines ${common.name}`} />
          <textarea
            name={common.name}
            rows={3}
            defaultValue={Array.isArray(value) ? value.join("\n") : ""}
            spellCheck={false}
          />
        </>
      );
    default: {
      const example = isOptional ? undefined : exampleOf(shape);
      const shown = value ?? example;
      const text = shown === undefined ? "" : textOf(shown);
      return <textarea rows={3} defaultValue={text} spellCheck={false} {...common} />;
    }
  }
}

const valuesOf = (shape: Shape): readonly Value[] =>
  shape.kind === "choice" ? shape.values : [false, true];

/** Returns which option of a select has a value. */
function indexOf(shape: Shape, value: Value | undefined): number | undefined {
  const index = valuesOf(shape).findIndex((each) => compareValues(each, value) === 0);
  return index === -1 ? undefined : index;
}

/** Returns what somebody has filled in. @throws if a field for JSON does not hold JSON */
export function inputOf(form: FormData, shape: Shape): Value {
  const text = form.get("input");
  if (text !== null || shape.kind !== "object") return fromText(text);
  return Object.fromEntries(
    shape.fields.flatMap((field) => {
      const given = String(form.get(nameOf(field)) ?? "");
      if (given === "" && field.isOptional) return [];
      const isJson = field.shape.kind === "lines" && !form.has(`lines ${nameOf(field)}`);
      const shape: Shape = isJson ? { kind: "other", example: [] } : field.shape;
      return [[field.name, valueOf(given, shape, field.name)]];
    }),
  );
}

function valueOf(text: string, shape: Shape, name: string): Value {
  switch (shape.kind) {
    case "string":
      return text;
    case "number":
      return numberOf(text, name);
    case "int64":
      return integerOf(text, name);
    case "lines":
      return linesOf(text.replaceAll("\r", "")).map((line) =>
        valueOf(line, { kind: shape.of }, name),
      );
    case "boolean":
    case "choice":
      return valuesOf(shape)[Number(text)] ?? null;
    default:
      return fromText(text, name);
  }
}

/** @throws if it is a line that is not a number */
function numberOf(text: string, name: string): number {
  const number = Number(text);
  if (Number.isNaN(number)) throw new Error(`${name}: ${text} is not a number.`);
  return number;
}

/** @throws if a browser takes it for a number, and it is no integer, as 1e3 */
function integerOf(text: string, name: string): bigint {
  if (!/^[+-]?\d+$/.test(text))
    throw new Error(`${name}: write the integer in digits, not as ${text}.`);
  return BigInt(text);
}
