import { foldersAround, resolveModule, withoutEnding } from "../plan/paths.js";
import { once } from "../plan/once.js";
import { posix } from "node:path";

/**
 * Reads a file, by its path relative to the functions folder; undefined if missing. Of a path that
 * ends with a slash it gives what folder that is, wherever links to it stand.
 */
export interface ReadModule {
  (file: string): string | undefined;
  /** What reads for it, if it only notes what is asked for. */
  readonly of?: ReadModule;
}

const endings = ["", "/index"].flatMap((at) =>
  "ts tsx js jsx mts cts mjs cjs".split(" ").map((ending) => `${at}.${ending}`),
);

/** The paths of the functions folder that a module may stand for; none for a package. */
export function modulePaths(from: string, module: string, read: ReadModule): readonly string[] {
  const known = resolved(read.of ?? read);
  const folder = posix.dirname(from);
  const key = `${folder}\n${module}`;
  const before = known.get(key);
  // Whoever asks depends on what was read.
  for (const file of before?.asked ?? []) read(file);
  if (before !== undefined) return before.paths;
  const asked = new Set<string>();
  const noted = noting(read, asked);
  const own = resolveModule(from, module);
  const named = own === undefined ? aliasedPaths(folder, module, noted).map(withoutEnding) : [own];
  const paths = named.map((path) => insideFunctions(path, noted));
  known.set(key, { paths, asked });
  return paths;
}

/** Reads the same files, and notes which. */
export const noting = (read: ReadModule, asked: Set<string>): ReadModule =>
  Object.assign(
    (file: string) => {
      asked.add(file);
      return read(file);
    },
    { of: read.of ?? read },
  );

interface Resolved {
  readonly paths: readonly string[];
  readonly asked: ReadonlySet<string>;
}

/** Returns what modules stand for, by folder: most definitions import the same ones. */
const resolved = once((_read: ReadModule) => new Map<string, Resolved>());

/** `../convex/order` is `order`: the functions folder does not know its own name. */
function insideFunctions(path: string, read: ReadModule): string {
  const [, above = ""] = /^((?:\.\.\/)+)/.exec(path) ?? [];
  const depth = above.length / "../".length;
  const inside = path
    .split("/")
    .slice(2 * depth)
    .join("/");
  if (depth === 0 || inside === "") return path;
  const isSame = (ending: string) => {
    const text = read(inside + ending);
    return text !== undefined && read(path + ending) === text;
  };
  return endings.some(isSame) ? inside : path;
}

export interface ModuleFile {
  readonly path: string;
  readonly file: string;
  readonly text: string;
}

/** The file of the functions folder that a module's name stands for; not one that is generated. */
export function moduleFile(from: string, module: string, read: ReadModule): ModuleFile | undefined {
  return moduleFileAnywhere(from, module, inside(read), modulePaths(from, module, read));
}

/** Reads only the files of the functions folder. */
export const inside =
  (read: ReadModule): ReadModule =>
  (path) =>
    path.startsWith("..") ? undefined : read(path);

/** The same, also in the folders around the functions folder. */
export function moduleFileAnywhere(
  from: string,
  module: string,
  read: ReadModule,
  paths: readonly string[] = modulePaths(from, module, read),
): ModuleFile | undefined {
  let found: ModuleFile | undefined;
  for (const path of paths) found ??= fileAt(path, read);
  return found;
}

/** The file with a path, whatever its ending; not one that is generated. */
export function fileAt(path: string, read: ReadModule): ModuleFile | undefined {
  for (const ending of isGenerated(path) ? [] : endings) {
    const text = read(path + ending);
    if (text !== undefined) return { path, file: path + ending, text };
  }
  return undefined;
}

/** The first path that a module's name stands for: that of a file, if there is one. */
export function modulePath(from: string, module: string, read: ReadModule): string | undefined {
  const paths = modulePaths(from, module, read);
  const fileOf = (by: ReadModule) => moduleFileAnywhere(from, module, by, paths)?.path;
  return fileOf(inside(read)) ?? fileOf(read) ?? paths[0];
}

/** Says whether a path of the functions folder is generated, by Convex or by the compiler. */
export const isGenerated = (path: string): boolean =>
  /(^|\/)_(generated|workflows)(\/|$)/.test(path);

/** A pattern such as `@/*`, and the paths that it stands for, relative to the functions folder. */
type Alias = readonly [pattern: string, targets: readonly string[]];

/**
 * Returns what a module may stand for by a tsconfig's `paths` or `baseUrl`, or a package's
 * `imports`.
 */
function aliasedPaths(from: string, module: string, read: ReadModule): string[] {
  const folders = foldersUpFrom(from);
  const aliases = folders.flatMap((folder) => [
    ...configAliases(posix.join(folder, "tsconfig.json"), read),
    ...imports(folder, jsonIn(posix.join(folder, "package.json"), read)),
  ]);
  return [...aliases, ...ownPackage(module, folders, read)].flatMap(([pattern, targets]) => {
    const [before = "", after] = pattern.split("*");
    if (after === undefined) return module === pattern ? targets : [];
    if (!module.startsWith(before) || !module.endsWith(after)) return [];
    const rest = module.slice(before.length, module.length - after.length);
    return targets.map((target) => target.replace("*", () => rest));
  });
}

/** A folder and those around it, up to three above the functions folder. */
const foldersUpFrom = (folder: string): string[] => [
  ...new Set([...foldersAround(folder).reverse(), ".", "..", "../..", "../../.."]),
];

function configAliases(file: string, read: ReadModule, depth = 0): Alias[] {
  const config = jsonIn(file, read);
  if (config === undefined || depth > 8) return [];
  const { baseUrl: base, paths } = objectIn(config["compilerOptions"]);
  const folder = posix.dirname(file);
  const root = typeof base === "string" ? posix.join(folder, base) : folder;
  const own = Object.entries(objectIn(paths)).map(([pattern, targets]): Alias => {
    return [pattern, textsIn(targets).map((target) => posix.join(root, target))];
  });
  const inherited = textsIn(config["extends"]).flatMap((name) => {
    if (!name.startsWith(".")) return [];
    const path = posix.join(folder, name.endsWith(".json") ? name : `${name}.json`);
    return configAliases(path, read, depth + 1);
  });
  const bare: Alias[] = typeof base === "string" ? [["*", [`${root}/*`]]] : [];
  return [...own, ...inherited, ...bare];
}

/** Names that begin with `#`, of a package's own files. */
const imports = (folder: string, manifest: Manifest = {}): Alias[] =>
  Object.entries(objectIn(manifest["imports"])).map(([pattern, targets]) => [
    pattern,
    textsIn(targets).map((each) => posix.join(folder, each)),
  ]);

type Manifest = Readonly<Record<string, unknown>>;

/** A package of the same repository, such as a workspace: package managers make links to them. */
function ownPackage(module: string, folders: readonly string[], read: ReadModule): Alias[] {
  const name = packageIn(module);
  // Ours hold no definitions. Where they are developed, imports would lead through 112 files of
  // them.
  if (name?.startsWith("@stepwise/")) return [];
  const links = name === undefined ? [] : folders.map((each) => `${each}/node_modules/${name}/`);
  let own: string | undefined;
  for (const link of links) own ??= read(posix.normalize(link));
  if (name === undefined || own === undefined || own.includes("node_modules/")) return [];
  const { main, exports } = objectIn(jsonIn(`${own}package.json`, read));
  const given = exports ?? main ?? ["index", "src/index"];
  const all = { ".": given, "./*": ["*", "src/*"], ...objectIn(given) };
  return Object.entries(all).map(([pattern, targets]) => [
    posix.join(name, pattern),
    textsIn(targets).map((file) => posix.join(own, file)),
  ]);
}

/** The package that a module may be of: of `lodash/fp` or `@scope/x`, not `./x`, `@/x` or `#x`. */
export const packageIn = (module: string): string | undefined =>
  /^(?:@[\w-][\w.-]*\/)?[\w-][^/]*/.exec(module)?.[0];

/** The dependencies of a manifest with their versions. */
export const versionsIn = (manifest: Manifest): [name: string, version: string][] =>
  ["dependencies", "devDependencies", "peerDependencies", "optionalDependencies"].flatMap((field) =>
    Object.entries(objectIn(manifest[field])).map(([name, version]) => [name, `${version}`]),
  );

/** What stands for a package of the app's own, as in `workspace:*` or `link:../flows`. */
export const isOwnVersion = /^(?:workspace|link|file|portal):/;

export const objectIn = (value: unknown): Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null ? { ...value } : {};

const textsIn = (value: unknown): string[] =>
  typeof value === "string" ? [value] : Object.values(objectIn(value)).flatMap(textsIn);

/** JSON as a tsconfig has it, with comments and commas at the end of lists. */
export function jsonIn(file: string, read: ReadModule): Manifest | undefined {
  const text = read(file);
  if (text === undefined) return undefined;
  const known = parsedBefore.get(file);
  if (known?.text === text) return known.json;
  const json = parsedJson(text);
  parsedBefore.set(file, { text, json });
  return json;
}

const parsedBefore = new Map<string, { text: string; json: Manifest | undefined }>();

function parsedJson(text: string): Manifest | undefined {
  const outsideTexts = (pattern: RegExp, of: string) =>
    of.replace(
      new RegExp(`("(?:\\\\.|[^"\\\\])*")|${pattern.source}`, "g"),
      (_, kept = "") => kept,
    );
  const plain = outsideTexts(/,(?=\s*[}\]])/, outsideTexts(/\/\/[^\n]*|\/\*[^]*?\*\//, text));
  try {
    return objectIn(JSON.parse(plain));
  } catch {
    return undefined;
  }
}
