import { quote } from "../../diagnostics/diagnostic.js";
import { inPath } from "../../plan/constants.js";
import type { BodyPlan } from "../../plan/schema.js";
import { scopeReads } from "../handlers.js";
import { fileOf, type Options, optionsIn, policyOf } from "../options.js";
import { ts } from "../../typescript.js";
import { bodyPlan } from "./loop.js";
import { type Named, type NodeContext, type NodeKind, ofNode, stagePlan } from "./node-kind.js";
import type { Option } from "../functions.js";

export interface KeyedWords {
  readonly option: "branches" | "cases";
  readonly one: string;
}

export const ofCases: KeyedWords = { option: "cases", one: "case" };

const needed = { on: "({ input }) => …", cases: "{ key: (b) => b.step(…) }" };

/** `.branch(name, { on, cases })`: one stage, and those of its cases. */
export const branch: NodeKind = {
  known: Object.keys(needed),
  needed,
  parts({ named, options, context }) {
    const { file, scope: visible } = context;
    const { at } = named;
    const on = options.get("on");
    const isThere = on !== undefined || options.rest !== undefined;
    const reads = isThere ? scopeReads(on, file) : undefined;
    const cases = readKeyed(options, ofCases, named, context);
    const own = { kind: "branch", policy: policyOf(options, file), at } as const;
    return {
      stages: [reads && stagePlan(ofNode(named), { ...own, reads }, { visible }, file)],
      bodies: [...(cases?.values() ?? [])].map((each) => readCase(each, named, context)),
      source: on === undefined ? [] : [on.value],
    };
  },
};

/** The cases or branches by their keys; undefined when they cannot be read: that is reported. */
export function readKeyed(
  all: Options,
  { option: name, one }: KeyedWords,
  of: Named,
  { file }: NodeContext,
): Options | undefined {
  const option = all.get(name);
  const cases = option && optionsIn(option.value, fileOf(option, file), true);
  const [unread] = cases?.rest ?? [];
  const key = unread && ts.isPropertyAssignment(unread) ? unread.name : undefined;
  if (key && /\b__proto__\b/.test(key.getText())) {
    const message = `"__proto__" cannot be the key of a ${one}, as it means the prototype of the object`;
    return file.report("notAnIdentifier", key, message, "choose another text");
  }
  if (unread !== undefined) {
    const message = `the ${name} of ${of.label} hold something that is only known when it runs`;
    const hint = `write each ${one} as \`key: (b) => b.step(…)\`; a computed key is that of a const, a const object or an enum of the app`;
    return file.report("unreadableOptions", unread, message, hint);
  }
  if (option !== undefined && cases?.size === 0) {
    const message = `${of.label} has no ${name}`;
    const forKey = all.has("on") ? "for every key that `on` gives" : undefined;
    const forCase = all.has("of") ? "for every value" : forKey;
    const which = (name === "cases" && forCase) || "for each thing to do at once";
    const hint = `write one ${which}: \`${name}: { key: (b) => b.step(…) }\``;
    file.report("noCases", option.nameNode, message, hint);
  }
  return cases && inOrder(cases);
}

/** The order of the run time: an object gives keys that are whole numbers first. */
function inOrder(cases: Options): Options {
  const keys = Object.keys(Object.fromEntries(cases));
  return new Map(keys.flatMap((key) => [...cases].filter(([each]) => each === key)));
}

export function readCase(
  option: Option,
  of: Named,
  context: NodeContext,
  { option: name, one }: KeyedWords = ofCases,
  isApart = false,
): BodyPlan {
  const { name: key } = option;
  const called = `${one} ${quote(key)}`;
  const inside = {
    key,
    path: `${of.path}.${inPath(key)}`,
    code: [...of.code, name, key],
    scope: context.scope,
    label: `${called} of ${of.label}`,
    end: isApart ? `${called} is complete` : `the end of ${called}`,
  };
  return bodyPlan(option, inside, context);
}
