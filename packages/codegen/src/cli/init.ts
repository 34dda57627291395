import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join, relative, sep } from "node:path";
import pc from "picocolors";
import { definitionFiles } from "../discover/definition-files.js";
import { mountComponent } from "../init/convex-config.js";
import type { Edit } from "../init/edit.js";
import { firstWorkflow, firstWorkflowFile } from "../init/first-workflow.js";
import { ignoreGenerated } from "../init/prettier-ignore.js";
import { addScripts, missingPackages } from "../init/package-scripts.js";
import { configuredName, configuredOutput, nameComponent } from "../init/stepwise-config.js";
import { configFile, convexConfigFiles, usualComponent } from "../plan/paths.js";
import { displayPath, UsageError, wantedFolder } from "./functions-folder.js";
import { printTo, type Terminal } from "./terminal.js";

export interface InitOptions {
  readonly dir?: string;
}

/** Does what is missing, and shows it; gives the exit code, which is 1 when something is left to the user. */
export async function init(options: InitOptions, terminal: Terminal): Promise<0 | 1> {
  const { cwd } = terminal;
  const functionsDir = wantedFolder(cwd, options.dir);
  const folder = displayPath(cwd, functionsDir);
  const manifest = textOf(join(cwd, "package.json"));
  const configs = editConfigs(functionsDir);
  const edits = [
    { at: cwd, edit: addScripts(manifest) },
    ...configs.map((edit) => ({ at: functionsDir, edit })),
    { at: functionsDir, edit: firstWorkflow(definitionFiles(functionsDir).files) },
    {
      at: cwd,
      edit: ignoreGenerated(textOf(join(cwd, ".prettierignore")), generatedIn(cwd, functionsDir)),
    },
  ];
  for (const { at, edit } of edits) apply(at, edit);
  const print = printTo(terminal);
  for (const { at, edit } of edits)
    print.out(line(displayPath(cwd, join(at, edit.file)), edit, terminal));
  const install = missingPackages(textOf(join(cwd, "package.json")));
  const steps = [
    ...(install === undefined ? [] : [install]),
    "npx workflow-codegen",
    ...(edits.some(({ edit }) => edit.kind === "create" && edit.file === firstWorkflowFile)
      ? [`npx workflow-codegen run hello --input '{ "name": "Ada" }'`]
      : []),
    "npx convex dev",
  ];
  const left = configs.filter(({ kind }) => kind === "refuse").map(({ file }) => file);
  const isReady = edits.every(({ edit }) => edit.kind === "keep");
  // Without the component nothing else would work: it is what comes next.
  if (left.length > 0)
    print.out(
      `${folder} is not ready for workflows: ${left.join(" and ")} must be changed by hand, as said above. Then run init again.`,
    );
  else if (isReady && install === undefined)
    print.out(`Nothing to do: ${folder} is ready for workflows.`);
  else print.out(["Next:", ...steps.map((step) => `  $ ${step}`)].join("\n"));
  return edits.some(({ edit }) => edit.kind === "refuse") ? 1 : 0;
}

/** Mounts the component, and has the app's config say under which name, where that is not the usual one. */
function editConfigs(functionsDir: string): Edit[] {
  const read = (file: string) => textOf(join(functionsDir, file));
  const file = convexConfigFiles.find((name) => read(name) !== undefined);
  const config = read(configFile);
  const mount = mountComponent(
    file ?? convexConfigFiles[0],
    file && read(file),
    configuredName(config) ?? usualComponent,
  );
  const naming = mount.name === undefined ? undefined : nameComponent(config, mount.name);
  return naming === undefined ? [mount.edit] : [mount.edit, naming];
}

/** The folder of generated code as a path of `.prettierignore`, which has `/` on every system. */
const generatedIn = (cwd: string, functionsDir: string): string =>
  relative(cwd, join(functionsDir, configuredOutput(textOf(join(functionsDir, configFile)))))
    .split(sep)
    .join("/");

function apply(at: string, edit: Edit): void {
  if (edit.kind !== "create" && edit.kind !== "change") return;
  const path = join(at, edit.file);
  try {
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, edit.text);
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new UsageError(`${path} cannot be written: ${why}`, { cause });
  }
}

function line(path: string, { kind, what }: Edit, { color }: Terminal): string {
  const colors = pc.createColors(color);
  const words = {
    create: colors.green("created"),
    change: colors.green("changed"),
    keep: colors.dim("kept"),
    refuse: colors.red("not changed"),
  };
  return `${words[kind]} ${path}: ${what}`;
}

function textOf(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return undefined;
    const why = error instanceof Error ? error.message : String(error);
    throw new UsageError(`${path} cannot be read: ${why}`, { cause: error });
  }
}
