import { Node } from "../../ts-morph.js";
import { constantOf, functionOf, unwrap } from "../functions.js";
import { knownValue } from "../known.js";
import { givenOptions, plannedValues } from "../options.js";
import { type Reads, readsOf } from "../reads.js";
import { type NodeKind, ofNode, stagePlan } from "./node-kind.js";
import type { DefinitionFile } from "../parser.js";

/** `.sleep(name, duration | (scope) => duration | Date)`: one stage, which makes nothing. */
export const sleep: NodeKind = {
  planned: ["duration"],
  hasOutput: false,
  parts({ call, named, context: { file, scope: visible } }) {
    const { label, at } = named;
    const [, nameNode] = call.call.getArguments();
    if (nameNode === undefined) {
      const hint = 'write it after the name: `.sleep("settle", "10m")`, or a function of the scope';
      file.report("missingOption", at, `${label} has no duration`, hint);
      return { stages: [], options: new Map() };
    }
    const value = heldIn(nameNode, file);
    const reads = readDuration(value, label, file);
    const options = new Map([["duration", { name: "duration", nameNode, value }]]);
    const given = givenOptions(options, file);
    const policy = { values: plannedValues(given, ["duration"]), computed: [], given };
    const own = { kind: "sleep", visible, policy, at } as const;
    return { stages: [reads && stagePlan({ ...ofNode(named), ...own, reads }, file)], options };
  },
};

/** The value of a const of the file stands for its name. */
function heldIn(value: Node, file: DefinitionFile): Node {
  const node = unwrap(value);
  return (Node.isIdentifier(node) ? constantOf(node, file) : undefined) ?? value;
}

/** What a duration reads: nothing, where it is none but a value. */
function readDuration(value: Node, label: string, file: DefinitionFile): Reads | undefined {
  const fn = functionOf(value, file);
  if (fn !== undefined) return readsOf(fn, "ofScope", file);
  if (isDuration(value, file)) return [];
  const message = `the duration of ${label} cannot be seen here`;
  const hint =
    "write it here or as a const at the top of this file, or a function of the scope: `({ input }) => input.delay`";
  file.report("unknownHandler", value, message, hint);
  return undefined;
}

/** Whether an expression cannot be a function, whatever it gives. */
export function isDuration(value: Node, file: DefinitionFile): boolean {
  const node = unwrap(heldIn(value, file));
  const known = knownValue(node, file);
  return (
    (known !== undefined && typeof known !== "object") ||
    (Node.isBinaryExpression(node) && /^[-+*/%]/.test(node.getOperatorToken().getText())) ||
    (Node.isNewExpression(node) && node.getExpression().getText() === "Date") ||
    Node.isTemplateExpression(node)
  );
}
