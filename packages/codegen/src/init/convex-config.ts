import type { CallExpression, SourceFile, VariableDeclaration } from "ts-morph";
import { Node, Project, SyntaxKind } from "../ts-morph.js";
import { insert, type Edit } from "./edit.js";

const component = "@stepwise/workflow/convex.config";
/** The name under which generated code finds the component: `components.workflow`. */
const mountedAs = "workflow";

const fresh = `import workflow from "${component}";
import { defineApp } from "convex/server";

const app = defineApp();
app.use(workflow);

export default app;
`;

const byHand = `add \`import workflow from "${component}"\` and \`app.use(workflow)\` to it yourself`;

/**
 * Mounts the component in an app's `convex.config.ts`, by adding to its text and leaving the rest as it is.
 *
 * @param text undefined when there is no such file yet
 */
export function mountComponent(file: string, text: string | undefined): Edit {
  if (text === undefined || text.trim() === "")
    return { kind: "create", file, text: fresh, what: "mounts the workflow component" };
  const source = new Project({
    useInMemoryFileSystem: true,
    skipLoadingLibFiles: true,
  }).createSourceFile("/convex.config.ts", text.replace(/^\ufeff/, " "));
  const refuse = (why: string): Edit => ({ kind: "refuse", file, what: `${why}: ${byHand}` });
  if (!parses(source)) return refuse("it does not parse");
  const app = appOf(source);
  if (app === undefined) return refuse("it has no `const app = defineApp()`");
  const name = app.getName();
  const local = importedAs(source);
  const uses = usesOf(source, name);
  if (uses.some((call) => call.getArguments()[0]?.getText() === local))
    return { kind: "keep", file, what: "mounts the workflow component already" };
  const other = uses.find((call) => nameOf(call, source) === mountedAs);
  if (other !== undefined) {
    const what = `it mounts another component under the name "${mountedAs}", with \`${other.getText()}\`, which generated code needs for its own: give that one another name, as in \`${name}.use(…, { name: "other" })\`, then run init again`;
    return { kind: "refuse", file, what };
  }
  const wanted = local ?? freeName(source);
  const lastUse = uses.at(-1)?.getFirstAncestorByKind(SyntaxKind.ExpressionStatement);
  const after = lastUse ?? app.getVariableStatementOrThrow();
  return {
    kind: "change",
    file,
    text: insert(text, [
      ...(local === undefined
        ? [{ at: importsEnd(source), text: `import ${wanted} from "${component}";\n` }]
        : []),
      { at: after.getEnd(), text: `\n${name}.use(${wanted});` },
    ]),
    what: "mounts the workflow component",
  };
}

function parses(source: SourceFile): boolean {
  const { parseDiagnostics = [] } = source.compilerNode as unknown as {
    parseDiagnostics?: unknown[];
  };
  return parseDiagnostics.length === 0;
}

/** `const app = defineApp()`, at the top of the file. */
function appOf(source: SourceFile): VariableDeclaration | undefined {
  return source.getVariableDeclarations().find((declaration) => {
    const call = declaration.getInitializer();
    return Node.isCallExpression(call) && call.getExpression().getText() === "defineApp";
  });
}

/** The calls `app.use(…)` that are statements of the file. */
function usesOf(source: SourceFile, app: string): CallExpression[] {
  return source.getStatements().flatMap((statement) => {
    const call = Node.isExpressionStatement(statement) ? statement.getExpression() : undefined;
    return Node.isCallExpression(call) && call.getExpression().getText() === `${app}.use`
      ? [call]
      : [];
  });
}

/** The local name of the component, when it is imported. */
function importedAs(source: SourceFile): string | undefined {
  return source
    .getImportDeclarations()
    .find((each) => each.getModuleSpecifierValue().replace(/\.js$/, "") === component)
    ?.getDefaultImport()
    ?.getText();
}

/** The name a component is mounted under: the one that is given, else its own, which is that of its package. */
function nameOf(call: CallExpression, source: SourceFile): string | undefined {
  const [used, options] = call.getArguments();
  const given = Node.isObjectLiteralExpression(options) ? options.getProperty("name") : undefined;
  if (Node.isPropertyAssignment(given)) {
    const value = given.getInitializer();
    return Node.isStringLiteral(value) ? value.getLiteralText() : undefined;
  }
  const module = source
    .getImportDeclarations()
    .find((each) => each.getDefaultImport()?.getText() === used?.getText())
    ?.getModuleSpecifierValue();
  return module
    ?.replace(/\/convex\.config(\.js)?$/, "")
    .split("/")
    .at(-1);
}

function freeName(source: SourceFile): string {
  const taken = new Set(
    source.getDescendantsOfKind(SyntaxKind.Identifier).map((id) => id.getText()),
  );
  return (
    ["workflow", "stepwise", "stepwiseWorkflow"].find((name) => !taken.has(name)) ?? "workflow_"
  );
}

/** The beginning of the line after the last import; without one, of the file. */
function importsEnd(source: SourceFile): number {
  const last = source.getImportDeclarations().at(-1);
  if (last === undefined) return 0;
  const at = last.getEnd();
  const lineEnd = source.getFullText().indexOf("\n", at);
  return lineEnd < 0 ? at : lineEnd + 1;
}
