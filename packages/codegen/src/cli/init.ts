import { existsSync, lstatSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join, relative, sep } from "node:path";
import { definitionFiles, readText } from "../discover/discover.js";
import { firstGenerated } from "../init/first-generated.js";
import { mountComponent } from "../init/convex-config.js";
import {
  addScripts,
  type Edit,
  firstWorkflow,
  firstWorkflowFile,
  ignoreGenerated,
  missingPackages,
  nameComponent,
  settingsIn,
} from "../init/app-files.js";
import { configFile, convexConfigFiles, outputOf, usualComponent } from "../plan/paths.js";
import { displayPath, UsageError, wantedFolder } from "./functions-folder.js";
import { printTo, type Terminal } from "./terminal.js";

export function init({ dir }: { readonly dir?: string }, terminal: Terminal): 0 | 1 {
  const { cwd } = terminal;
  const functionsDir = wantedFolder(cwd, dir);
  const folder = displayPath(cwd, functionsDir);
  const { edits: configs, name } = editConfigs(functionsDir);
  const isThere = (file: string) => existsSync(join(functionsDir, file));
  const inApp = [
    ...configs,
    firstWorkflow(definitionFiles(functionsDir).files),
    ...firstGenerated(functionsDir, name ?? usualComponent, isThere),
  ];
  const ignored = textOf(join(cwd, ".prettierignore"));
  const edits = [
    { at: cwd, edit: addScripts(textOf(join(cwd, "package.json"))) },
    ...inApp.map((edit) => ({ at: functionsDir, edit })),
    { at: cwd, edit: ignoreGenerated(ignored, generatedIn(cwd, functionsDir)) },
  ];
  for (const { at, edit } of edits) apply(at, edit);
  const { out, colors } = printTo(terminal);
  const words = {
    create: colors.green("created"),
    change: colors.green("changed"),
    keep: colors.dim("kept"),
    refuse: colors.red("not changed"),
  };
  for (const { at, edit } of edits)
    out(`${words[edit.kind]} ${displayPath(cwd, join(at, edit.file))}: ${edit.what}`);
  const isLinked = (name: string) =>
    lstatSync(join(cwd, "node_modules", name), { throwIfNoEntry: false })?.isSymbolicLink() ===
    true;
  const install = missingPackages(readText(join(cwd, "package.json")), isLinked);
  const is = (kind: Edit["kind"]) => edits.filter(({ edit }) => edit.kind === kind);
  const left = configs.filter(({ kind }) => kind === "refuse").map(({ file }) => file);
  // Without the component nothing else would work: it is what comes next.
  if (left.length > 0)
    out(
      `${folder} is not ready for workflows: ${left.join(" and ")} must be changed by hand, as said above. Then run init again.`,
    );
  else if (is("keep").length === edits.length && install === undefined)
    out(`Nothing to do: ${folder} is ready for workflows.`);
  else {
    const isFirst = is("create").some(({ edit }) => edit.file === firstWorkflowFile);
    const next = isFirst ? `run hello --input '{ "name": "Ada" }'` : "generate";
    const steps = [
      ...(install === undefined ? [] : [install]),
      `npx workflow-codegen ${next}`,
      "npx workflow-codegen dev",
    ];
    out(["Next:", ...steps.map((step) => `  $ ${step}`)].join("\n"));
  }
  return is("refuse").length > 0 ? 1 : 0;
}

/** Mounts the component; the app's config says under which name, if not the usual one. */
function editConfigs(functionsDir: string) {
  const read = (file: string) => textOf(join(functionsDir, file));
  const file = convexConfigFiles.find((name) => read(name) !== undefined);
  const config = read(configFile);
  // One of another type is reported when the app is compiled.
  const { component } = settingsIn(config);
  const mount = mountComponent(
    file ?? convexConfigFiles[0],
    file && read(file),
    typeof component === "string" ? component : usualComponent,
  );
  const naming = mount.name === undefined ? undefined : nameComponent(config, mount.name);
  const edits = naming === undefined ? [mount.edit] : [mount.edit, naming];
  return { edits, name: mount.name };
}

/** A file's text with its own line ends, which an edit keeps. @throws Unreadable */
const textOf = (path: string): string | undefined =>
  readText(path) === undefined ? undefined : readFileSync(path, "utf8");

/** The folder of generated code as a path of `.prettierignore`, which has `/` on every system. */
const generatedIn = (cwd: string, functionsDir: string): string =>
  relative(cwd, join(functionsDir, outputOf(settingsIn(readText(join(functionsDir, configFile))))))
    .split(sep)
    .join("/");

function apply(at: string, edit: Edit): void {
  if (edit.kind !== "create" && edit.kind !== "change") return;
  if ("files" in edit) {
    for (const [name, text] of Object.entries(edit.files))
      apply(at, { kind: "create", file: `${edit.file}/${name}`, text, what: edit.what });
    return;
  }
  const path = join(at, edit.file);
  try {
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, edit.text);
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new UsageError(`${path} cannot be written: ${why}`, { cause });
  }
}
