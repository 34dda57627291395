import type { CallExpression, ExportAssignment, Node as AnyNode, SourceFile } from "ts-morph";
import { type Import, importsOf, isImported } from "../analyze/modules.js";
import { unwrap } from "../analyze/functions.js";
import { placeAt } from "../diagnostics/diagnostic.js";
import { Node, SyntaxKind } from "../ts-morph.js";
import { type Edit, insert, type Insertion, parse } from "./app-files.js";

const component = "@stepwise/workflow/convex.config";

/** What mounts the component under a name. */
const lines = (name: string): string =>
  `\`import workflow from "${component}"\` and \`app.use(${usedAs("workflow", name)})\``;

const byHand = (name: string): string => `add ${lines(name)} to it yourself`;

const usedAs = (local: string, name: string): string =>
  name === usual ? local : `${local}, { name: "${name}" }`;

export interface Mount {
  readonly edit: Edit;
  /** The name under which it is mounted; undefined when it is not, or that is computed. */
  readonly name?: string;
}

export function mountComponent(file: string, text: string | undefined, wanted: string): Mount {
  const what = `mounts the workflow component${wanted === usual ? "" : ` as "${wanted}"`}`;
  if (text === undefined || text.trim() === "")
    return { edit: { kind: "create", file, text: fresh(wanted), what }, name: wanted };
  const refuse = (why: string): Mount => ({ edit: { kind: "refuse", file, what: why } });
  const source = parse(text);
  if (source === undefined) return refuse("it does not parse: mend it, then run init again");
  const imports = importsOf(source.compilerNode);
  const mounted = mountedIn(source, imports);
  if (mounted !== undefined) {
    const kept = "mounts the workflow component already";
    const name = nameOf(mounted, imports);
    if (name === undefined)
      return refuse(
        `it ${kept}, with \`${mounted.getText()}\`, under a name that is computed: write the name out, then run init again`,
      );
    const twin = usesAnywhere(source).find(
      (call) => call !== mounted && nameOf(call, imports) === name,
    );
    if (twin !== undefined) {
      return refuse(
        `it mounts two components under the name "${name}", with \`${mounted.getText()}\` and \`${twin.getText()}\`: give one of them another, as in \`app.use(stepwise, { name: "stepwise" })\`, then run init again`,
      );
    }
    const as = name === usual ? "" : `, as "${name}"`;
    return { edit: { kind: "keep", file, what: `${kept}${as}` }, name };
  }
  const made = appIn(source, imports);
  if (made === undefined) {
    return refuse(
      isCommonJs(source)
        ? 'it is a CommonJS module, to which no import can be added: write it with `import { defineApp } from "convex/server"` and `export default app`, then run init again'
        : `it calls no \`defineApp()\` as \`const app = defineApp()\` or \`export default defineApp()\`: ${byHand(wanted)}, where \`app\` is what \`defineApp()\` gives`,
    );
  }
  const app = "name" in made ? made.name : freeName(source, ["app", "convexApp"]);
  const uses = usesOf(source, app);
  const other = uses.find((call) => nameOf(call, imports) === wanted);
  if (other !== undefined && wanted === usual) return mountComponent(file, text, "stepwise");
  if (other !== undefined)
    return refuse(
      `it mounts another component under the name "${wanted}", with \`${other.getText()}\`, which generated code needs for its own: give that one another name, as in \`${app}.use(…, { name: "other" })\`, or write another as \`component\` into stepwise.config.ts, then run init again`,
    );
  const known = importedAs(imports);
  const local = known ?? freeName(source, ["workflow", "stepwise", "stepwiseWorkflow"]);
  const use = `${app}.use(${usedAs(local, wanted)});`;
  const edits: Insertion[] =
    known === undefined
      ? [{ at: importsEnd(source), text: `import ${local} from "${component}";\n` }]
      : [];
  if ("name" in made) {
    const after = uses.at(-1)?.getFirstAncestorByKind(SyntaxKind.ExpressionStatement);
    edits.push({ at: (after ?? made.statement).getEnd(), text: `\n${use}` });
  } else {
    const { exported } = made;
    const expression = exported.getExpression();
    edits.push(
      { at: exported.getStart(), until: expression.getStart(), text: `const ${app} = ` },
      { at: exported.getEnd(), text: `\n${use}\n\nexport default ${app};` },
    );
  }
  return { edit: { kind: "change", file, text: insert(text, edits), what }, name: wanted };
}

/** Where an app's config plainly does not mount the component under a name; else undefined. */
export function mountedAstray(file: string, text: string, wanted: string) {
  const source = parse(text);
  if (source === undefined) return undefined;
  const imports = importsOf(source.compilerNode);
  const makers = [...imports.values()].filter(({ imported }) => imported === "defineApp");
  const made = appIn(source, imports);
  if (made === undefined || makers.length !== 1 || makers[0]?.module !== "convex/server")
    return undefined;
  if ("name" in made && !isHereAlone(source, made.name)) return undefined;
  const names = usesAnywhere(source).map((call) => plainName(call, imports));
  if (names.some((name) => name === undefined || name === wanted)) return undefined;
  const mounted = mountedIn(source, imports);
  const at = mounted ?? ("name" in made ? made.statement : made.exported);
  const place = placeAt(file, source.getFullText(), at.getStart(), at.getWidth());
  /** The name under which it is mounted; undefined when it is not. */
  const name = mounted && nameOf(mounted, imports);
  return { place, name };
}

/** What to write into an app's config for the component to be mounted under a name. */
export const howToMount = (name: string): string =>
  `write ${lines(name)} into it, or have workflow-codegen init do it`;

/** The component's own name, which is that of its package. */
const usual = "workflow";

const fresh = (name: string): string => `import workflow from "${component}";
import { defineApp } from "convex/server";

const app = defineApp();
app.use(${usedAs("workflow", name)});

export default app;
`;

type Imports = ReadonlyMap<string, Import>;

/** The app that the file makes: a variable with its statement, or the default export itself. */
type MadeApp =
  { readonly name: string; readonly statement: AnyNode } | { readonly exported: ExportAssignment };

function appIn(source: SourceFile, imports: Imports): MadeApp | undefined {
  const makes = (value: AnyNode | undefined): boolean => {
    const call = value && unwrap(value);
    if (!Node.isCallExpression(call)) return false;
    const callee = call.getExpression();
    return callee.getText() === "defineApp" || isImported(callee, imports, "defineApp");
  };
  const exported = source.getExportAssignment((each) => !each.isExportEquals());
  // Of several, as where one is made for a test, the one that is exported.
  const declarations = source
    .getVariableDeclarations()
    .filter((declaration) => makes(declaration.getInitializer()));
  const name = exported && unwrap(exported.getExpression()).getText();
  const made = declarations.find((each) => each.getName() === name) ?? declarations[0];
  if (made !== undefined)
    return { name: made.getName(), statement: made.getVariableStatementOrThrow() };
  return exported !== undefined && makes(exported.getExpression()) ? { exported } : undefined;
}

const isCommonJs = (source: SourceFile): boolean =>
  source.getImportDeclarations().length === 0 &&
  /\bmodule\.exports\b|\bexports\.default\b/.test(source.getFullText());

/** The call `app.use(…)` that mounts the component, wherever it stands. */
function mountedIn(source: SourceFile, imports: Imports): CallExpression | undefined {
  const local = importedAs(imports);
  if (local === undefined) return undefined;
  return usesAnywhere(source).find((call) => call.getArguments()[0]?.getText() === local);
}

function usesAnywhere(source: SourceFile): CallExpression[] {
  return source.getDescendantsOfKind(SyntaxKind.CallExpression).filter((call) => {
    const callee = call.getExpression();
    return Node.isPropertyAccessExpression(callee) && callee.getName() === "use";
  });
}

/** The calls `app.use(…)` that are statements of the file. */
const usesOf = (source: SourceFile, app: string): CallExpression[] =>
  usesAnywhere(source).filter((call) => {
    const statement = call.getParentIfKind(SyntaxKind.ExpressionStatement);
    return statement?.getParent() === source && call.getExpression().getText() === `${app}.use`;
  });

function importedAs(imports: Imports): string | undefined {
  const isOurs = ({ module, imported }: Import) =>
    imported === "default" && module.replace(/\.js$/, "") === component;
  return [...imports].find(([, from]) => isOurs(from))?.[0];
}

/** The name a component is mounted under; undefined if it is computed. */
function nameOf(call: CallExpression, imports: Imports): string | undefined {
  const [used, options] = call.getArguments();
  if (options !== undefined && !Node.isObjectLiteralExpression(options)) return undefined;
  const given = options?.getProperty("name");
  if (given !== undefined) {
    const value = Node.isPropertyAssignment(given) ? given.getInitializer() : undefined;
    const isText = Node.isStringLiteral(value) || Node.isNoSubstitutionTemplateLiteral(value);
    return isText ? value.getLiteralText() : undefined;
  }
  return imports
    .get(used?.getText() ?? "")
    ?.module.replace(/\/convex\.config(\.js)?$/, "")
    .split("/")
    .at(-1);
}

/** The same, if there is no doubt: a component of the app's own has its name in another file. */
function plainName(call: CallExpression, imports: Imports): string | undefined {
  const [used, options] = call.getArguments();
  const fields = Node.isObjectLiteralExpression(options) ? options.getProperties() : [];
  const plain = fields
    .filter((field) => Node.isPropertyAssignment(field))
    .filter((field) => Node.isIdentifier(field.getNameNode()));
  if (plain.length < fields.length) return undefined;
  const from = imports.get(used?.getText() ?? "");
  const isPackage =
    from?.imported === "default" && /^[^.].*\/convex\.config(\.js)?$/.test(from.module);
  const isNamed = plain.some((field) => field.getName() === "name");
  return isPackage || isNamed ? nameOf(call, imports) : undefined;
}

/** Whether the app is handed on to nobody, so that only this file's `app.use(…)` can mount. */
function isHereAlone(source: SourceFile, app: string): boolean {
  const mentions = identifiersIn(source).filter((id) => id.getText() === app);
  return mentions.every((id) => {
    const around = id.getParent();
    if (Node.isVariableDeclaration(around)) return around.getInitializer() !== id;
    if (Node.isExportAssignment(around) || Node.isExportSpecifier(around)) return true;
    if (!Node.isPropertyAccessExpression(around) || around.getName() !== "use") return false;
    const call = around.getParent();
    return Node.isCallExpression(call) && call.getExpression() === around;
  });
}

const identifiersIn = (source: SourceFile) => source.getDescendantsOfKind(SyntaxKind.Identifier);

function freeName(source: SourceFile, names: readonly [string, ...string[]]): string {
  const taken = new Set(identifiersIn(source).map((id) => id.getText()));
  return names.find((name) => !taken.has(name)) ?? `${names[0]}_`;
}

/** The beginning of the line after the last import; without one, of the file. */
function importsEnd(source: SourceFile): number {
  const at = source.getImportDeclarations().at(-1)?.getEnd();
  if (at === undefined) return 0;
  const lineEnd = source.getFullText().indexOf("\n", at);
  return lineEnd < 0 ? at : lineEnd + 1;
}
