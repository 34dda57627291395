import { type Import, importsOf, isImported } from "../analyze/modules.js";
import { isCalled, stringOf, unwrap } from "../analyze/functions.js";
import { placeAt } from "../diagnostics/diagnostic.js";
import { type Node, ts, type TypeScript } from "../typescript.js";
import { callsIn, identifiersIn } from "../analyze/descendants.js";
import { type Edit, insert, type Insertion, parse } from "./app-files.js";

const component = "@stepwise/workflow/convex.config";

/** The component's own name, which is that of its package. */
const usual = "workflow";

const usedAs = (local: string, name: string): string =>
  name === usual ? local : `${local}, { name: "${name}" }`;

/** Returns what mounts the component under a name. */
const lines = (name: string): string =>
  `\`import workflow from "${component}"\` and \`app.use(${usedAs("workflow", name)})\``;

/** Returns what to write into an app's config for the component to be mounted under a name. */
export const howToMount = (name: string): string =>
  `write ${lines(name)} into it, or have workflow-codegen init do it`;

const fresh = (name: string): string => `import workflow from "${component}";
import { defineApp } from "convex/server";

const app = defineApp();
app.use(${usedAs("workflow", name)});

export default app;
`;

export interface Mount {
  readonly edit: Edit;
  /** The name under which it is mounted; undefined when it is not, or that is computed. */
  readonly name?: string;
}

export function mountComponent(file: string, text = "", wanted: string): Mount {
  const as = wanted === usual ? "" : ` as "${wanted}"`;
  const what = `mounts the workflow component${as}`;
  if (text.trim() === "")
    return { edit: { kind: "create", file, text: fresh(wanted), what }, name: wanted };
  const refuse = (why: string): Mount => ({ edit: { kind: "refuse", file, what: why } });
  const config = readConfig(text);
  if (config === undefined) return refuse("it does not parse: correct it, then run init again");
  const { source, imports, made, uses, ours, local: known } = config;
  if (made === undefined && callsIn(source).some((call) => makes("defineComponent", call, imports)))
    return refuse(
      "it calls `defineComponent()`, and workflows are part of an app: run init for the functions folder of the app that uses the component, with --dir if need be",
    );
  if (ours !== undefined) {
    const { name, call } = ours;
    const already = "mounts the workflow component already";
    if (name === undefined)
      return refuse(
        `it ${already}, with \`${call.getText()}\`, under a name that is computed: write the name out, then run init again`,
      );
    const twin = uses.find((use) => use !== ours && use.name === name);
    if (twin !== undefined)
      return refuse(
        `it mounts two components under the name "${name}", with \`${call.getText()}\` and \`${twin.call.getText()}\`: give one of them another, as in \`app.use(stepwise, { name: "stepwise" })\`, then run init again`,
      );
    const asName = name === usual ? "" : `, as "${name}"`;
    return { edit: { kind: "keep", file, what: `${already}${asName}` }, name };
  }
  if (made === undefined)
    return refuse(
      isCommonJs(source)
        ? 'it is a CommonJS module, to which no import can be added: write it with `import { defineApp } from "convex/server"` and `export default app`, then run init again'
        : `it calls no \`defineApp()\` as \`const app = defineApp()\` or \`export default defineApp()\`: add ${lines(wanted)} to it yourself, where \`app\` is what \`defineApp()\` gives`,
    );
  const { name: app = freeName(source, ["app", "convexApp"]), statement, value } = made;
  const other = uses.find(({ name }) => name === wanted);
  if (other !== undefined && wanted === usual) return mountComponent(file, text, "stepwise");
  if (other !== undefined)
    return refuse(
      `it mounts another component under the name "${wanted}", with \`${other.call.getText()}\`, which generated code needs for its own: give that one another name, as in \`${app}.use(…, { name: "other" })\`, or write another as \`component\` into stepwise.config.ts, then run init again`,
    );
  const local = known ?? freeName(source, ["workflow", "stepwise", "stepwiseWorkflow"]);
  const use = `\n${app}.use(${usedAs(local, wanted)});`;
  const edits: Insertion[] =
    known === undefined
      ? [{ at: importsEnd(source), text: `import ${local} from "${component}";\n` }]
      : [];
  if (made.name === undefined)
    edits.push(
      { at: statement.getStart(), until: value.getStart(), text: `const ${app} = ` },
      { at: statement.getEnd(), text: `${use}\n\nexport default ${app};` },
    );
  else {
    const last = uses.findLast(({ call }) => call.expression.getText() === `${app}.use`);
    // The statement of the file that it stands in; a function may stand above the app.
    const isOnTop = (around: Node) => ts.isSourceFile(around.parent);
    const after =
      last === undefined ? statement : (ts.findAncestor(last.call, isOnTop) ?? statement);
    edits.push({ at: Math.max(after.getEnd(), statement.getEnd()), text: use });
  }
  return { edit: { kind: "change", file, text: insert(text, edits), what }, name: wanted };
}

/**
 * Returns where an app's config plainly does not mount the component under a name; else undefined.
 */
export function mountedAstray(file: string, text: string, wanted: string) {
  const config = readConfig(text);
  if (config === undefined) return undefined;
  const { source, imports, made, uses, ours } = config;
  const makers = [...imports.values()].filter(({ imported }) => imported === "defineApp");
  if (made === undefined || makers.length !== 1 || makers[0]?.module !== "convex/server")
    return undefined;
  if (made.name !== undefined && !isHereAlone(source, made.name)) return undefined;
  if (uses.some(({ isSure, name }) => !isSure || name === undefined || name === wanted))
    return undefined;
  const at = ours?.call ?? made.statement;
  const place = placeAt(file, source.text, at.getStart(), at.end - at.getStart());
  /** The name under which it is mounted; undefined when it is not. */
  return { place, name: ours?.name };
}

type Imports = ReadonlyMap<string, Import>;

/** Returns what a file says of the app's components; undefined if it does not parse. */
function readConfig(text: string) {
  const source = parse(text);
  if (source === undefined) return undefined;
  const imports: Imports = importsOf(source);
  const isOurs = ({ module, imported }: Import) =>
    imported === "default" && module.replace(/\.js$/, "") === component;
  /** Returns what the component is imported as. */
  const local = [...imports].find(([, from]) => isOurs(from))?.[0];
  const uses = callsIn(source).flatMap((call) => {
    const { expression: callee } = call;
    const isUse = ts.isPropertyAccessExpression(callee) && callee.name.text === "use";
    return isUse ? [readUse(call, imports)] : [];
  });
  const ours = uses.find(({ used }) => used === local && local !== undefined);
  return { source, imports, local, uses, ours, made: appIn(source, imports) };
}

/** `app.use(…)`: what it mounts, under which name. */
function readUse(call: TypeScript.CallExpression, imports: Imports) {
  const [argument, options] = call.arguments;
  const used = argument?.getText() ?? "";
  const { module = "", imported } = imports.get(used) ?? {};
  const isObject = options !== undefined && ts.isObjectLiteralExpression(options);
  const fields = isObject ? [...options.properties] : [];
  const plain = fields
    .filter(ts.isPropertyAssignment)
    .filter((field) => ts.isIdentifier(field.name));
  const given = plain.find((field) => field.name.getText() === "name");
  const [, usualName] = /([^/]*)\/convex\.config(?:\.js)?$/.exec(module) ?? [];
  const name = given === undefined ? usualName : stringOf(given.initializer);
  const isPlain = plain.length === fields.length && (options === undefined || isObject);
  // A component of the app's own has its name in another file.
  const isPackage = imported === "default" && usualName !== undefined && !module.startsWith(".");
  const isSure = isPackage || given !== undefined;
  /** Its name is undefined if it is computed. */
  return { call, used, name: isPlain ? name : undefined, isSure };
}

/** The app that the file makes: by a variable of a name, or as the default export itself. */
interface MadeApp {
  readonly name: string | undefined;
  readonly statement: Node;
  readonly value: Node;
}

/** Says whether an expression calls `defineApp`, or the like, by whatever name. */
function makes(maker: string, node: Node, imports: Imports): boolean {
  if (!ts.isCallExpression(node)) return false;
  const { expression: callee } = node;
  return callee.getText() === maker || isImported(callee, imports, maker);
}

function appIn(source: TypeScript.SourceFile, imports: Imports): MadeApp | undefined {
  const makesApp = (value: Node | undefined): value is Node =>
    value !== undefined && makes("defineApp", unwrap(value), imports);
  const exported = source.statements
    .filter(ts.isExportAssignment)
    .find((each) => each.isExportEquals !== true);
  const expression = exported?.expression;
  const name = expression && unwrap(expression).getText();
  const declarations = source.statements
    .filter(ts.isVariableStatement)
    .flatMap((statement) =>
      statement.declarationList.declarations.flatMap(({ initializer: value, name }): MadeApp[] =>
        makesApp(value) ? [{ name: name.getText(), statement, value }] : [],
      ),
    );
  // Of several, as where one is made for a test, the one that is exported.
  const made = declarations.find((each) => each.name === name) ?? declarations[0];
  if (made !== undefined || exported === undefined || !makesApp(expression)) return made;
  return { name: undefined, statement: exported, value: expression };
}

const isCommonJs = ({ statements, text }: TypeScript.SourceFile): boolean =>
  !statements.some(ts.isImportDeclaration) && /\bmodule\.exports\b|\bexports\.default\b/.test(text);

/** Says whether the app is handed on to nobody, so that only this file's `app.use(…)` can mount. */
function isHereAlone(source: TypeScript.SourceFile, app: string): boolean {
  const mentions = identifiersIn(source).filter((id) => id.text === app);
  return mentions.every((id) => {
    const { parent: around } = id;
    if (ts.isVariableDeclaration(around)) return around.initializer !== id;
    if (ts.isExportAssignment(around) || ts.isExportSpecifier(around)) return true;
    if (!ts.isPropertyAccessExpression(around)) return false;
    return around.name.text === "use" && isCalled(around);
  });
}

function freeName(source: TypeScript.SourceFile, names: readonly [string, ...string[]]): string {
  const taken = new Set(identifiersIn(source).map(({ text }) => text));
  return names.find((name) => !taken.has(name)) ?? `${names[0]}_`;
}

/** The beginning of the line after the last import; without one, of the file. */
function importsEnd({ statements, text }: TypeScript.SourceFile): number {
  const at = statements.findLast(ts.isImportDeclaration)?.end;
  if (at === undefined) return 0;
  const lineEnd = text.indexOf("\n", at);
  return lineEnd < 0 ? at : lineEnd + 1;
}
