import {
  choice,
  group,
  hasHardline,
  ifBreak,
  indent,
  join,
  line,
  softline,
  type Doc,
} from "./doc.js";
import { quoted } from "./text.js";

/** Documents for the few forms of TypeScript that generated code consists of, laid out as Prettier lays them out. */

/** A string literal. */
export const string = (text: string): Doc => quoted(text);

/** `[a, b]`; `open` puts every item on its own line, also when they would fit on one. */
export function array(items: readonly Doc[], open = false): Doc {
  if (items.length === 0) return "[]";
  const content = ["[", indent([softline, join([",", line], items)]), ifBreak(","), softline, "]"];
  return group(content, { broken: open });
}

/** A list of names as string literals. */
export const strings = (texts: readonly string[]): Doc => array(texts.map(string));

/** `{ a: b }`; `open` puts every property on its own line, also when they would fit on one. */
export function object(properties: readonly Doc[], open = false): Doc {
  if (properties.length === 0) return "{}";
  return group(["{", indent([line, join([",", line], properties)]), ifBreak(","), line, "}"], {
    broken: open,
  });
}

/** The name of a property, in quotes where it needs them. */
export function propertyKey(key: string): string {
  return /^[A-Za-z_$][A-Za-z0-9_$]*$/.test(key) ? key : quoted(key);
}

/** `key: value` */
export const property = (key: string, value: Doc): Doc => assignment(`${propertyKey(key)}:`, value);

/** `a.b.c` */
export function members([first = "", ...rest]: readonly string[]): Doc {
  return [first, ...rest.map((name) => group(indent([softline, `.${name}`])))];
}

/** `callee(a, b)`, with all arguments on one line, or each on its own. */
export function call(callee: Doc, args: readonly Doc[]): Doc {
  if (args.length === 0) return [callee, "()"];
  return [
    callee,
    group(["(", indent([softline, join([",", line], args)]), ifBreak(","), softline, ")"]),
  ];
}

/** `callee(a, b, last)`, where the last argument (an object, a list, a function) may open on the line of the call. */
export function callHugging(callee: Doc, args: readonly Doc[], last: Doc, hugged: Doc = last): Doc {
  const before = args.flatMap((argument) => [argument, ", "]);
  const open: Doc = ["(", ...before, group(hugged, { broken: true }), ")"];
  const allBroken = group(
    ["(", indent([line, join([",", line], [...args, last])]), ",", line, ")"],
    {
      broken: true,
    },
  );
  if (args.some(hasHardline)) return [callee, allBroken];
  if (hasHardline(hugged)) return [callee, choice(open, allBroken)];
  return [callee, choice(["(", ...before, hugged, ")"], open, allBroken)];
}

/** `callee(a, [b, c])` */
export function callWithList(callee: Doc, args: readonly Doc[], items: readonly Doc[]): Doc {
  return items.length === 0
    ? call(callee, [...args, "[]"])
    : callHugging(callee, args, array(items));
}

/** `callee(a, (x, y) => body)` */
export function callWithArrow(
  callee: Doc,
  args: readonly Doc[],
  parameters: string,
  body: Doc,
): Doc {
  const arrow = group([`(${parameters}) =>`, group(indent([line, body]))]);
  const hugged = group([`(${parameters}) =>`, group(indent([line, body])), ifBreak(","), softline]);
  return callHugging(callee, args, arrow, hugged);
}

/**
 * `lead value`. When that is too long the value is broken inside, and put on the next line only if not even its beginning fits;
 * with `whole` it is put on the next line in any case.
 */
export function assignment(lead: string, value: Doc, whole = false): Doc {
  if (whole) return group([lead, group(indent([line, value]))]);
  const id = Symbol(lead);
  return [lead, group(indent(line), { id }), ifBreak(indent(value), value, id)];
}

/** `export const name: Type = value;` */
export function exportedConst(name: string, type: string, value: Doc): Doc {
  return [assignment(`export const ${name}: ${type} =`, value), ";"];
}
