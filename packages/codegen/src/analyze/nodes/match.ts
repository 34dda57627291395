import type { Read } from "../../plan/schema.js";
import type { Option } from "../functions.js";
import { constantText } from "../known.js";
import { fileOf, type Options, policyOf } from "../options.js";
import type { DefinitionFile } from "../parser.js";
import { ofCases, readCase, readKeyed } from "./branch.js";
import { type NodeKind, ofNode, stagePlan } from "./node-kind.js";

const needed = { of: '"input"', cases: "{ key: (b) => b.step(…) }" };

/** `.match(name, { of, by, cases, default })`: a branch that is told apart by a field. */
export const match: NodeKind = {
  known: ["of", "by", "cases", "default"],
  order: [["cases"], ["default"]],
  needed,
  parts({ named, options, context }) {
    const { file, scope: visible } = context;
    const { label, at } = named;
    const [of, by, rest] = ["of", "by", "default"].map((name) => options.get(name));
    const cases = readKeyed(options, ofCases, named, context);
    if (rest !== undefined && cases?.has("default") === true) {
      const message = `${label} has a case "default" beside its \`default\``;
      file.report("optionValue", rest.nameNode, message, "give what has no case one of them");
    }
    const bodies = [...(cases?.values() ?? []), ...(rest === undefined ? [] : [rest])];
    const own = { kind: "branch", policy: policyOf(options, file), at } as const;
    const reads = of === undefined ? ("*" as const) : readsOf(of, by, options, file);
    return {
      stages: [stagePlan(ofNode(named), { ...own, reads }, { visible }, file)],
      bodies: bodies.map((each) => readCase(each, named, context)),
      source: [of, by].flatMap((option) => (option === undefined ? [] : [option.value])),
    };
  },
};

/** The one name that it reads: everything, if that is computed. */
function readsOf(
  of: Option,
  by: Option | undefined,
  options: Options,
  file: DefinitionFile,
): Read[] | "*" {
  const text = (option: Option) => constantText(option.value, fileOf(option, file));
  const name = text(of);
  if (name === undefined) return "*";
  const path = by && text(by);
  const isWhole = path === undefined || options.rest !== undefined;
  const fields = isWhole ? undefined : path.split(".").slice(0, 1);
  return [{ name, place: fileOf(of, file).placeOf(of.value), fields }];
}
