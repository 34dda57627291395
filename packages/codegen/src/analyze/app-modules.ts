import { isBuiltin } from "node:module";
import { ts, type TypeScript } from "../typescript.js";
import { partsOf } from "./functions.js";
import { hasModifier, isHidden } from "./scoping.js";
import { valuesIn } from "./values-used.js";
import { bareSource } from "./descendants.js";
import { type Import, importsOf, reexportsOf } from "./modules.js";
import {
  fileAt,
  isOwnVersion,
  jsonIn,
  moduleFileAnywhere,
  modulePath,
  packageIn,
  versionsIn,
} from "./module-file.js";
import { placed, placesOf, type Reexport } from "./workflows.js";
import type { ReadModule } from "./module-file.js";

/** What a name at the top of a file stands for: a variable's value, or a declaration. */
export interface Declared {
  readonly node: TypeScript.Node;
  readonly module: Module;
  /** What a pattern takes of an object before the rest: `a` in `const { a, ...rest } = held`. */
  readonly without?: readonly string[];
}

/** The names at the top of one file of the app, without asking the type checker. */
export class Module {
  readonly imports: ReadonlyMap<string, Import>;
  readonly reexports: readonly Reexport[];

  constructor(
    readonly file: string,
    readonly source: TypeScript.SourceFile,
    readonly given: ReadonlyMap<string, Declared> = new Map(),
  ) {
    this.imports = importsOf(source);
    this.reexports = reexportsOf(source);
  }

  /** The same file inside a function, whose parameter stands for what is given. */
  inside(parameter: string, given: Declared): Module {
    return new Module(this.file, this.source, new Map([...this.given, [parameter, given]]));
  }

  declared(name: string): TypeScript.Node | undefined {
    return valuesIn(this.source).get(name);
  }

  exported(name: string): TypeScript.Node | undefined {
    const named = this.reexports.find(({ exported }) => exported === name);
    return named?.module === undefined ? this.declared(named?.imported ?? "") : undefined;
  }
}

/** The files of the app that definitions take values from. Each is parsed at most once. */
export class AppModules {
  #packages: readonly string[] | undefined;

  /** @param parsed those that were parsed before */
  constructor(
    private readonly read: ReadModule,
    private readonly parsed: Map<string, Module>,
  ) {}

  /**
   * Says whether a module is of Node or of the app's packages: no file of the app, and no alias.
   */
  isPackage(module: string, from: string): boolean {
    if (packageIn(module) === undefined || moduleFileAnywhere(from, module, this.read))
      return false;
    this.#packages ??= packagesOf(this.read);
    return isBuiltin(module) || this.#packages.some((name) => `${module}/`.startsWith(name));
  }

  /**
   * Returns what a name stands for in a module: declared there, or in the file it is imported from.
   * That may be all of the file.
   */
  find(name: string, module: Module): Declared | undefined {
    const node = module.declared(name);
    const own = module.given.get(name) ?? (node && { node, module });
    if (own !== undefined) return own;
    const from = module.imports.get(name);
    if (from === undefined) return undefined;
    const places = this.#places(from.imported, module.file, from.module);
    return this.#declared(places) ?? this.#unnamed(places) ?? this.#file(from, module);
  }

  /**
   * Returns what a member of a whole imported module stands for: `schemas.order`,
   * `lib.schemas.order`.
   */
  member(name: string, of: TypeScript.Node, module: Module): Declared | undefined {
    const path = this.#whole(of, module);
    return path === undefined ? undefined : this.#declared(this.#placesIn(path, name));
  }

  /** The path of the module that an expression stands for as a whole. */
  #whole(node: TypeScript.Node, module: Module): string | undefined {
    const [root, name] = partsOf(node);
    const owner = root && name !== undefined ? this.#whole(root, module) : undefined;
    if (owner !== undefined && name !== undefined)
      return this.#handedOn(this.#placesIn(owner, name));
    if (!ts.isIdentifier(node) || isHidden(node)) return undefined;
    const from = module.imports.get(node.text);
    return from && this.#wholeOf(from, module);
  }

  #file(from: Import, module: Module): Declared | undefined {
    const path = this.#wholeOf(from, module);
    const file = path === undefined ? undefined : this.#module(path);
    return file && { node: file.source, module: file };
  }

  /** The path of the module that an import gives as a whole: JSON has nothing else to give. */
  #wholeOf({ imported, module: specifier }: Import, { file }: Module): string | undefined {
    return imported === "*" || specifier.endsWith(".json")
      ? modulePath(file, specifier, this.read)
      : this.#handedOn(this.#places(imported, file, specifier));
  }

  /** A barrel may hand a whole module on by a name. */
  #handedOn(places: ReturnType<typeof placesOf>): string | undefined {
    for (const place of places) {
      const barrel = this.#module(place.module);
      const named = barrel?.reexports.find(({ exported }) => exported === place.name);
      if (barrel !== undefined && named?.imported === "*" && named.module !== undefined)
        return modulePath(barrel.file, named.module, this.read);
    }
    return undefined;
  }

  #declared(places: ReturnType<typeof placesOf>): Declared | undefined {
    for (const place of places) {
      const module = this.#module(place.module);
      const node = module?.exported(place.name);
      if (module !== undefined && node !== undefined) return { node, module };
    }
    return undefined;
  }

  /** What a file has as its default export that has no name. */
  #unnamed(places: ReturnType<typeof placesOf>): Declared | undefined {
    const last = places.at(-1);
    const module = last?.name === "default" ? this.#module(last.module) : undefined;
    const node = module && defaultOf(module.source);
    return node && { node, module };
  }

  #places(name: string, from: string, specifier: string) {
    const path = modulePath(from, specifier, this.read);
    return path === undefined ? [] : this.#placesIn(path, name);
  }

  #placesIn(path: string, name: string) {
    const reexports = (each: string) => {
      const module = this.#module(each);
      return module && placed(module.reexports, module.file, this.read);
    };
    return placesOf({ module: path, name }, reexports);
  }

  #module(path: string): Module | undefined {
    const json = path.endsWith(".json") ? this.read(path) : undefined;
    const found = json === undefined ? fileAt(path, this.read) : { file: path, text: json };
    if (found === undefined) return undefined;
    const known = this.parsed.get(path);
    // A file that was moved may have the same text, and its imports stand for others.
    if (known?.file === found.file && known.source.text === found.text) return known;
    const source = bareSource(found.file, found.text);
    if (source === undefined) return undefined;
    const module = new Module(source.fileName, source);
    this.parsed.set(path, module);
    return module;
  }
}

/** Returns what `export default` gives that has no name. */
function defaultOf({ statements }: TypeScript.SourceFile): TypeScript.Node | undefined {
  for (const each of statements) {
    if (ts.isExportAssignment(each) && each.isExportEquals !== true) return each.expression;
    if (hasModifier(each, ts.SyntaxKind.DefaultKeyword)) return each;
  }
  return undefined;
}

/** Returns the packages of the nearest manifests but the app's own. Without one, any name fits. */
function packagesOf(read: ReadModule): string[] {
  const paths = ["../package.json", "../../package.json", "../../../package.json"];
  const manifests = paths.map((path) => jsonIn(path, read)).filter((each) => each !== undefined);
  const names = manifests
    .flatMap(versionsIn)
    .flatMap(([name, version]) => (isOwnVersion.test(version) ? [] : [`${name}/`]));
  return manifests.length === 0 ? [""] : names;
}
