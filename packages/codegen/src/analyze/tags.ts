import { quote } from "../diagnostics/diagnostic.js";
import { MOST_TAGS } from "../plan/constants.js";
import { type Node, ts } from "../typescript.js";
import { functionOf, type Option, readOption, returnedBy, unwrap } from "./functions.js";
import { fileOf, type Options } from "./options.js";
import type { DefinitionFile } from "./parser.js";

/** The run time refuses another name, and the start of a run that has more than `MOST_TAGS`. */
const NAME = /^(?![$_])[ -~]{1,256}$/;

/** Reports tags that no run can have, as far as their names are written out. */
export function reportTags(options: Options, workflow: string, definition: DefinitionFile): void {
  const option = options.get("tags");
  const file = fileOf(option, definition);
  const fn = option && functionOf(option.value, file);
  const given = fn && returnedBy(fn);
  const tags = given === undefined ? [] : tagsIn(unwrap(given));
  const label = `workflow ${quote(workflow)}`;
  const beyond = tags[MOST_TAGS];
  if (beyond !== undefined) {
    const message = `${label} declares ${tags.length} tags: a run may have ${MOST_TAGS}`;
    file.report("optionValue", beyond.nameNode, message, "leave out those that nobody looks for");
  }
  for (const { name, nameNode } of tags.filter((each) => !NAME.test(each.name)))
    file.report(
      "optionValue",
      nameNode,
      `${quote(name)} cannot be the name of a tag`,
      "write a short one, in ASCII, that does not begin with $ or _",
    );
}

/** Each name once; what a spread adds is not seen. */
function tagsIn(given: Node): Option[] {
  if (!ts.isObjectLiteralExpression(given)) return [];
  const all = given.properties.flatMap((property) => readOption(property) ?? []);
  return [...new Map(all.map((tag) => [tag.name, tag])).values()];
}
