import { quote } from "../../diagnostics/diagnostic.js";
import { allReads, readRecover, type Reads, scopeReads } from "../handlers.js";
import { type Options, policyOf } from "../options.js";
import { readKeyed } from "./branch.js";
import { bodyPlan } from "./loop.js";
import {
  type NodeKind,
  type NodeParts,
  ofNode,
  optionSource,
  type Read,
  stagePlan,
} from "./node-kind.js";
import { isReduced, readsOfMost } from "./parent.js";

const planned = ["timeout", "concurrency", "tolerate"];
const ofRace = ["first", "compensateLosers", "timeout"];

/** `.parallel(name, { branches, reduce?, … })`: one stage, and those of its branches. */
export const parallel: NodeKind = {
  known: ["branches", "reduce", "recover", ...planned],
  order: [["branches"], ["reduce"]],
  planned,
  needed: { branches: "{ key: (b) => b.step(…) }" },
  parts: (read) => partsOf(read, "parallel", { option: "branches", one: "branch" }),
};

/** `.race(name, { cases, first?, … })`: one stage, and those of its cases. */
export const race: NodeKind = {
  known: ["cases", "recover", ...ofRace],
  order: [["cases"]],
  planned: ofRace,
  needed: { cases: "{ key: (b) => b.step(…) }" },
  parts: (read) => partsOf(read, "race", { option: "cases", one: "case" }),
};

function partsOf(
  read: Read,
  kind: "parallel" | "race",
  words: { readonly option: "branches" | "cases"; readonly one: string },
): NodeParts {
  const { named, context } = read;
  const { option: name, one } = words;
  const bodies = [...(readKeyed(read.options, words, named, context)?.values() ?? [])];
  return {
    stages: [stageOf(read, kind, [])],
    bodies: bodies.map((option) => {
      const { name: key } = option;
      const inside = {
        key,
        path: `${named.path}.${key}`,
        code: [...named.code, name, key],
        scope: context.scope,
        label: `${one} ${quote(key)} of ${named.label}`,
        end: `${one} ${quote(key)} is complete`,
      };
      return bodyPlan(option, inside, context);
    }),
    source: sourceWithout(read.options, name),
  };
}

/** `.each(name, { of, body, reduce?, … })`: one stage, and those of its body. */
export const each: NodeKind = {
  known: ["of", "body", "reduce", "recover", ...planned],
  order: [["of"], ["body"], ["reduce"]],
  planned,
  needed: { of: "({ input }) => input.items", body: "(b) => b.step(…)" },
  parts(read) {
    const { named, options, context } = read;
    const [of, body] = [options.get("of"), options.get("body")];
    const inside = {
      key: "body",
      path: named.path,
      code: [...named.code, "body"],
      // Its own item stands in the place of that of an each around it.
      scope: [...context.scope.filter((name) => name !== "each"), "each"],
      label: `the body of ${named.label}`,
      end: "the item is complete",
    };
    return {
      stages: [stageOf(read, "each", scopeReads(of, context.file))],
      bodies: body === undefined ? [] : [bodyPlan(body, inside, context)],
      source: sourceWithout(options, "body"),
    };
  },
};

function stageOf(
  { named, options, context }: Read,
  kind: "parallel" | "race" | "each",
  reads: Reads,
) {
  const { file, scope: visible } = context;
  return stagePlan(
    ofNode(named),
    {
      kind,
      reads: allReads([reads, readsOfMost(options, file)]),
      reduce: isReduced(options, named.label, file) ? true : undefined,
      // It starts runs of its own workflow alone.
      workflows: [],
      policy: policyOf(options, file),
      at: named.at,
    },
    { visible, recover: readRecover(options, visible, file) },
    file,
  );
}

const sourceWithout = (options: Options, bodies: string) =>
  optionSource(new Map([...options].filter(([name]) => name !== bodies)));
