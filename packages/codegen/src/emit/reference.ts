import { eventsOf, isSeen } from "../plan/events.js";
import { allNodes } from "../plan/flow.js";
import { capitalized } from "../plan/names.js";
import { withoutOnEnd } from "../plan/on-end.js";
import type { NodePlan, TakenEvent, WorkflowPlan } from "../plan/schema.js";
import { commented, exportedConst, list, property, quoted } from "./code.js";
import { copiedFunction, type FileScope, type WrittenConst } from "./file-scope.js";

/* The reference to a workflow. Its types are written out, so that using it asks for no others. */

export function referenceSections(workflow: WorkflowPlan, file: FileScope): string[] {
  const input = file.input(workflow.input);
  const events = eventsCode(workflow, file);
  const type = capitalized(workflow.name);
  const copied = events.schemas === undefined ? [] : [file.name("events")];
  return [
    ...(input.declaration === undefined ? [] : [commented(inputComment, input.declaration)]),
    ...(events.schemas === undefined ? [] : [commented(eventsComment, events.schemas)]),
    commented(
      [`${file.source}, ${workflow.name}.`, ...ofDefinition(workflow)].join(" "),
      referenceType(workflow, file, input.type, events.payloads),
    ),
    exportedConst("reference", type, file.own("reference", input.local, ...copied)),
  ];
}

const inputComment =
  "What `workflow.start` takes: the definition's `input`, written out again so that its type depends on nothing else.";
const eventsComment =
  "What `workflow.sendEvent` takes: the schemas of the events, written out again for their types. Nothing calls it.";

/** The type of the payloads by event, and the schemas that it is made of. */
function eventsCode(workflow: WorkflowPlan, file: FileScope) {
  const byName = new Map<string, TakenEvent["schema"][]>();
  for (const { name, schema } of eventsOf(workflow) ?? [])
    byName.set(name, [...(byName.get(name) ?? []), schema]);
  const consts = new Map<string, WrittenConst>();
  const seen = [...byName].flatMap(([name, schemas]) => {
    if (!schemas.every(isSeen)) return [];
    const copies = schemas.map((each) => file.schema(each));
    const named = copies.flatMap((each) => each.consts);
    // Two files may have different things under one name.
    if (named.some((each) => (consts.get(each.name) ?? each).text !== each.text)) return [];
    for (const each of named) consts.set(each.name, each);
    return [{ name, texts: copies.map(({ text }) => text) }];
  });
  const lines = seen.map(({ name, texts }) => `  ${property(name, list([...new Set(texts)]))},\n`);
  const definition = `typeof ${file.definition()}`;
  const others = [...byName.keys()].filter((name) => !seen.some((each) => each.name === name));
  const members = others.map((name) => {
    const [sent, of] = [file.runtime("Sent"), [definition, quoted(name)]];
    const line = `    ${property(name, `${sent}<${of.join(", ")}>`)};\n`;
    const broken = `${sent}<\n      ${of.join(",\n      ")}\n    >`;
    return line.length <= 81 ? line : `    ${property(name, broken)};\n`;
  });
  const all = [
    ...(seen.length === 0 ? [] : [`${file.runtime("Payloads")}<typeof ${file.name("events")}>`]),
    ...(others.length === 0 ? [] : [`{\n${members.join("")}  }`]),
    ...(eventsOf(workflow) === undefined ? [`${file.runtime("AllSent")}<${definition}>`] : []),
  ];
  const name = file.name("events");
  const schemas =
    consts.size === 0
      ? `// prettier-ignore\nconst ${name} = () => ({\n${lines.join("")}}) as const;`
      : copiedFunction(
          name,
          [...consts.values()],
          `{\n${lines.map((line) => `  ${line}`).join("")}  } as const;`,
        );
  return { payloads: all.join(" & ") || "never", schemas: seen.length === 0 ? undefined : schemas };
}

/** Returns what a comment says if some of the types need that of the definition. */
function ofDefinition(workflow: WorkflowPlan): string[] {
  const events = eventsOf(workflow)?.map(({ schema }) => schema) ?? [undefined];
  const unseen = [workflow.input, ...events].filter((each) => !isSeen(each));
  if (unseen.length === 0) return [];
  const closed = new Set(unseen.flatMap((each) => (each && "closed" in each ? each.closed : [])));
  const what = closed.size === 0 ? "the schema, as a const" : [...closed].join(" and ");
  return [`If TypeScript says that it depends on itself, export ${what}.`];
}

/** A base of an interface is worked out with it; what a member is, only where that is asked. */
function referenceType(
  { name, input: from, nodes, given }: WorkflowPlan,
  file: FileScope,
  input: string,
  payloads: string,
) {
  const definition = `typeof ${file.definition()}`;
  const member = (key: string, type: string) => `  readonly ${quoted(key)}?: ${type};\n`;
  const base = `export interface ${capitalized(name)} extends ${file.runtime("WorkflowReference")}<`;
  const inferred = isSeen(from) ? `${file.runtime("InferInput")}<${input}>` : "never";
  const fits = base.length + inferred.length + 3 <= 80;
  const head = fits ? `${base}${inferred}> {` : `${base}\n  ${inferred}\n> {`;
  const members = [
    ...(isSeen(from)
      ? []
      : [member("~input", `(input: ${file.runtime("WorkflowInput")}<${definition}>) => void`)]),
    ...(given.has("collect") ? [member("~collects", "true")] : []),
    member("~events", `() => ${payloads}`),
    namesMember(withoutOnEnd(nodes)),
  ];
  return `${head}\n${members.join("")}  readonly "~definition": ${definition};\n}`;
}

/** The names of all nodes, and the paths of those inside others. */
function namesMember(nodes: readonly NodePlan[]): string {
  const names = [...new Set(allNodes(nodes).map(({ path }) => quoted(path)))];
  const union = `${names.join(" | ")};`;
  const head = '  readonly "~nodes"?: () =>';
  if (head.length + 1 + union.length <= 80) return `${head} ${union}\n`;
  if (4 + union.length <= 80) return `${head}\n    ${union}\n`;
  return `${head}\n    | ${names.join("\n    | ")};\n`;
}
