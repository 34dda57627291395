import type { CallExpression, Identifier } from "ts-morph";
import { Node, SyntaxKind, ts, type TypeScript, VariableDeclarationKind } from "../ts-morph.js";
import type { ImportedName } from "../plan/expression.js";
import type { InputPlan } from "../plan/schema.js";
import { definitionModule, moduleFromOutput } from "../plan/paths.js";
import type { AppModules } from "./app-modules.js";
import type { DefinitionFile } from "./definition-file.js";
import { identifiersIn } from "./descendants.js";
import { toExpression } from "./expression.js";
import { unwrap } from "./functions.js";
import { readOptions, type Options } from "./options.js";
import { isDeclaredBetween, isReference } from "./scoping.js";
import { sourceHash, textOf } from "./tokens.js";

/** The options of `defineWorkflow({ … })`. */
export function readWorkflowOptions(
  root: CallExpression,
  workflow: string,
  file: DefinitionFile,
): Options | undefined {
  return readOptions(
    root.getArguments()[0],
    root.getExpression(),
    `workflow ${JSON.stringify(workflow)}`,
    file,
  );
}

/**
 * Reads the `input` of a definition. Generated code names its type without naming the definition, as that would make types
 * depend on themselves; so it must be an exported const, to import, or closed, to be copied.
 */
export function readInput(
  options: Options,
  at: Node,
  workflow: string,
  file: DefinitionFile,
  modules: AppModules,
): InputPlan | undefined {
  const option = options.get("input");
  if (option === undefined) {
    file.report("noInput", at, `workflow ${JSON.stringify(workflow)} has no input`, {
      hint: "write `input: z.object({ … })`; for none, `input: z.object({})`",
    });
    return undefined;
  }
  const expression = unwrap(option.value);
  const names = new Map<string, ImportedName>();
  const globals = new Set<string>();
  for (const id of freeNames(expression)) {
    const name = importable(id, file);
    if (name !== undefined) names.set(name.local, name);
    else if (!isDeclaredInFile(id.getText(), file)) globals.add(id.getText());
    else {
      reportOpen(id, workflow, file);
      return undefined;
    }
  }
  const word = wordOfItsPlace(expression.compilerNode);
  if (word !== undefined) {
    const message = `the input of workflow ${JSON.stringify(workflow)} has \`${word}\`, which means nothing in the generated code that writes it out again`;
    const hint = "make the schema without it, or export it as a const and write `input: thatConst`";
    file.report("openInput", expression, message, { hint });
    return undefined;
  }
  const only = Node.isIdentifier(expression) ? names.get(expression.getText()) : undefined;
  const hash = sourceHash([expression], file, modules);
  if (only !== undefined) return { kind: "import", import: only, hash };
  return {
    kind: "copy",
    text: textOf(expression),
    imports: [...names.values()].sort((a, b) => (a.local < b.local ? -1 : 1)),
    hash,
    expression: toExpression(expression, new Set(names.keys())),
    globals: [...globals].sort(),
  };
}

/** `await` or `this`, where it is that of the place where an expression stands. */
function wordOfItsPlace(part: TypeScript.Node): "await" | "this" | undefined {
  if (ts.isFunctionLike(part) && !ts.isArrowFunction(part)) return undefined;
  if (part.kind === ts.SyntaxKind.ThisKeyword) return "this";
  if (ts.isAwaitExpression(part)) return "await";
  return ts.forEachChild(part, wordOfItsPlace);
}

/** The names an expression takes from outside itself. */
function freeNames(expression: Node): Identifier[] {
  const inside = identifiersIn(expression);
  const all = Node.isIdentifier(expression) ? [expression] : inside;
  const boundary = expression.getParentOrThrow();
  return all.filter((id) => isReference(id) && !isDeclaredBetween(id, boundary));
}

/** How a name comes into the generated file: from where the definition's file has it, or from that file itself. */
function importable(id: Identifier, file: DefinitionFile): ImportedName | undefined {
  const local = id.getText();
  const from = file.imports.get(local);
  if (from !== undefined) {
    const { imported, typeOnly } = from;
    return { local, imported, module: moduleFromOutput(file.file, from.module), typeOnly };
  }
  const [exported] = file.exports.get(local) ?? [];
  if (exported === undefined || !isConst(local, file)) return undefined;
  return { local, imported: exported, module: definitionModule(file.file), typeOnly: false };
}

/** Whether a name at the top of a file always stands for one value. */
function isConst(name: string, { source }: DefinitionFile): boolean {
  const statement = source.getVariableDeclaration(name)?.getVariableStatement();
  return statement?.getDeclarationKind() === VariableDeclarationKind.Const;
}

/** Whether a name is declared at the top of a file. */
export function isDeclaredInFile(name: string, file: DefinitionFile): boolean {
  const { source } = file;
  return (
    source.getVariableStatements().some((statement) =>
      statement.getDeclarations().some((declaration) => {
        const binding = declaration.getNameNode();
        if (Node.isIdentifier(binding)) return binding.getText() === name;
        return binding
          .getDescendantsOfKind(SyntaxKind.Identifier)
          .some((id) => id.getText() === name);
      }),
    ) ||
    source.getFunction(name) !== undefined ||
    source.getClass(name) !== undefined ||
    source.getEnum(name) !== undefined ||
    source.getInterface(name) !== undefined ||
    source.getTypeAlias(name) !== undefined
  );
}

function reportOpen(id: Identifier, workflow: string, file: DefinitionFile): void {
  const name = id.getText();
  file.report(
    "openInput",
    id,
    `the input of workflow ${JSON.stringify(workflow)} uses ${JSON.stringify(name)}, which is neither imported nor an exported const, so generated code cannot write it out again`,
    {
      hint: `export it as a const, or export the whole schema as one and write \`input: thatConst\``,
    },
  );
}
