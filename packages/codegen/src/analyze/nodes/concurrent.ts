import { allReads, readRecover, type Reads, scopeReads } from "../handlers.js";
import { policyOf } from "../options.js";
import { type KeyedWords, ofCases, readCase, readKeyed } from "./branch.js";
import { readBody } from "./loop.js";
import {
  type NodeKind,
  type NodeParts,
  ofNode,
  type Read,
  sourceWithout,
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
  parts: (read) => partsOf(read, "race", ofCases),
};

function partsOf(read: Read, kind: "parallel" | "race", words: KeyedWords): NodeParts {
  const { named, options, context } = read;
  const bodies = [...(readKeyed(options, words, named, context)?.values() ?? [])];
  return {
    stages: [stageOf(read, kind, [])],
    bodies: bodies.map((option) => readCase(option, named, context, words, true)),
    source: sourceWithout(options, words.option),
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
    // Its own item stands in the place of that of an each around it.
    const scope = [...context.scope.filter((name) => name !== "each"), "each"];
    return {
      stages: [stageOf(read, "each", scopeReads(of, context.file))],
      bodies: readBody(body, named, { scope, end: "the item is complete" }, context),
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
