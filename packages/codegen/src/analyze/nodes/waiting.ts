import { type Node, ts } from "../../typescript.js";
import { childWorkflow } from "../children.js";
import { constantOf, functionOf, type Option, readOption, unwrap } from "../functions.js";
import { allReads, readRecover, type Reads, readsOf, scopeReads } from "../handlers.js";
import { isScalar, knownValue, objectOf } from "../known.js";
import { givenOptions, type Options, optionsIn, plannedValues } from "../options.js";
import { policyOf, readOptions } from "../options.js";
import { quote } from "../../diagnostics/diagnostic.js";
import { durationMs } from "../../plan/constants.js";
import type { DefinitionFile } from "../parser.js";
import { schemaPlan } from "../input.js";
import { ofNode, stagePlan } from "./node-kind.js";
import type { Named, NodeContext, NodeKind } from "./node-kind.js";
import { reportUnknown, slipHint, strangersIn } from "../told-options.js";

/* The nodes at which a run waits for something outside: for a time, an event, one other run. */

/** `.sleep(name, duration | { at, zone } | (scope) => …)`: one stage, which makes nothing. */
export const sleep: NodeKind = {
  planned: ["duration"],
  parts({ call, named, context: { file, scope: visible } }) {
    const { name, label, at } = named;
    const [, nameNode] = call.call.arguments;
    if (nameNode === undefined && durationMs(Number(name) || name) !== undefined) {
      const message = `this .sleep() has a duration, ${quote(name)}, but no name`;
      const hint = `write a name before it: \`.sleep("settle", ${at.getText()})\``;
      return file.report("missingOption", at, message, hint);
    }
    if (nameNode === undefined) {
      const hint = 'write it after the name: `.sleep("settle", "10m")`, or a function of the scope';
      file.report("missingOption", at, `${label} has no duration`, hint);
    }
    // Also one that cannot be read gives nothing.
    const reads = nameNode === undefined ? [] : readsIfFunction(nameNode, file);
    const options: Options = new Map(
      nameNode && [["duration", { name: "duration", nameNode, value: nameNode }]],
    );
    const given = givenOptions(options, file);
    const policy = { values: plannedValues(given, ["duration"]), computed: [], given };
    const work = { kind: "sleep", reads, policy, at } as const;
    return { stages: [stagePlan(ofNode(named), work, { visible }, file)], options };
  },
};

/**
 * Returns what a value reads that may be a function of the scope: everything, if it is not seen.
 */
function readsIfFunction(value: Node, file: DefinitionFile): Reads {
  const fn = functionOf(value, file);
  if (fn !== undefined) return readsOf(fn, "ofScope", file);
  return isDuration(value, file) ? [] : "*";
}

/** Says whether an expression cannot be a function, whatever it gives. */
function isDuration(value: Node, file: DefinitionFile): boolean {
  const named = unwrap(value);
  const node = (ts.isIdentifier(named) ? constantOf(named, file) : undefined) ?? named;
  return (
    isScalar(knownValue(node, file)) ||
    ts.isObjectLiteralExpression(node) ||
    (ts.isBinaryExpression(node) && /^[-+*/%]/.test(node.operatorToken.getText())) ||
    (ts.isNewExpression(node) && node.expression.getText() === "Date") ||
    ts.isTemplateExpression(node)
  );
}

const ofEvent = ["schema", "anyOf", "match", "timeout", "sensitive"];

/**
 * `.event(name, { schema | anyOf, match?, timeout? })`: one stage, which reads what its timeout and
 * its `match` do.
 */
export const event: NodeKind = {
  known: ofEvent,
  needsOne: { schema: "z.object({ … })", anyOf: "{ name: schema }" },
  planned: ["timeout", "sensitive"],
  parts({ named, options, context }) {
    const { file, scope: visible } = context;
    checkSchema(options, named, context);
    const timeout = options.get("timeout");
    const unwritten = options.rest === undefined ? [] : "*";
    const byTime = timeout === undefined ? unwritten : readsIfFunction(timeout.value, file);
    const match = options.get("match");
    const byMatch = match === undefined ? unwritten : readsOfMatch(match, file);
    const reads = allReads([byTime, byMatch]);
    const work = { kind: "event", reads, at: named.at, policy: policyOf(options, file) } as const;
    const stage = stagePlan(ofNode(named), work, { visible }, file);
    const schemas = eventSchemas(options, named, context);
    const isHere = ![...options.values()].some(({ elsewhere }) => elsewhere);
    const events =
      schemas &&
      [...schemas].map(([name, value]) => {
        const schema = isHere && ts.isExpression(value) ? schemaPlan(value, file) : undefined;
        return { name, schema };
      });
    return { stages: [stage], schemas, events: events ?? "unseen" };
  },
};

/** Returns what a `match` reads of the scope: a function, or one for each of several names. */
function readsOfMatch(match: Option, file: DefinitionFile): Reads {
  const each = objectOf(match.value, file)?.properties.map((option) => readOption(option));
  if (each === undefined) return scopeReads(match, file, "match");
  return allReads(each.map((option) => scopeReads(option, file, "match")));
}

/** The schemas by the names of the events; undefined if the names are not all written out. */
function eventSchemas(options: Options, { name }: Named, { file }: NodeContext) {
  const [schema, anyOf] = [options.get("schema"), options.get("anyOf")];
  if (schema !== undefined) return new Map([[name, schema.value]]);
  const each = anyOf && optionsIn(anyOf.value, file, true);
  if (each === undefined || each.rest !== undefined) return undefined;
  const mayChange = [...each.values()].some((one) => one.elsewhere ?? one.isSure === false);
  return mayChange ? undefined : new Map([...each].map(([event, { value }]) => [event, value]));
}

/** An event has one schema, or one for each of several names. */
function checkSchema(options: Options, { label, at }: Named, { file }: NodeContext): void {
  const anyOf = options.get("anyOf");
  const report = (where: typeof at, message: string, hint: string) =>
    file.report("missingOption", where, `${label} ${message}`, hint);
  if (anyOf === undefined && !options.has("schema") && options.rest === undefined) {
    const hint = "write `schema: z.object({ … })`; for several events `anyOf: { name: schema }`";
    const slip = slipHint(options, ["schema", "anyOf"]);
    const others = slip === undefined ? strangersIn(options, ofEvent) : "";
    const why = `has neither schema nor anyOf, so nothing says what it waits for${others}`;
    report(at, why, slip ?? hint);
  }
  if (anyOf !== undefined && objectOf(anyOf.value, file)?.properties.length === 0) {
    const hint = "write `anyOf: { approved: schema, rejected: schema }`";
    report(anyOf.nameNode, "waits for any of no events", hint);
  }
}

/** `.child(name, workflow, args, { recover? })`: one stage, a run of the workflow. */
export const child: NodeKind = {
  parts({ call, named, context }) {
    const { file, scope: visible, workflows } = context;
    const { label, at } = named;
    const [, workflow, args, given] = call.call.arguments;
    if (workflow === undefined || args === undefined) {
      const message = `${label} has no ${workflow === undefined ? "workflow" : "args"}`;
      const hint = 'write all three: `.child("name", workflow, ({ input }) => ({ … }))`';
      file.report("missingOption", at, message, hint);
    }
    const name = args && workflow && childWorkflow(workflow, label, file, workflows);
    const held = given && readOptions(given, call.kindNode, label, file);
    if (held !== undefined) reportUnknown(held, ["recover"], label, file);
    const recover = held && readRecover(held, visible, file);
    if (name === undefined || args === undefined) return { stages: [] };
    const options = new Map(held);
    for (const [name, value] of Object.entries({ args, options: given }))
      if (value !== undefined) options.set(name, { name, nameNode: value, value });
    const fn = functionOf(args, file);
    const reads = fn === undefined ? "*" : readsOf(fn, "ofScope", file);
    const policy = { values: {}, computed: [], given: new Map() };
    const work = { kind: "child" as const, reads, policy, at, workflows: [name] };
    const stages = [stagePlan(ofNode(named), work, { visible, recover }, file)];
    return { stages, options, source: call.call.arguments.slice(1) };
  },
};
