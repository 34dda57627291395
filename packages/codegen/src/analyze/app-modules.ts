import { isBuiltin } from "node:module";
import { ts, type TypeScript } from "../ts-morph.js";
import { declarationsOf } from "./scoping.js";
import { bareSource } from "./descendants.js";
import { type Import, importsOf, reexportsOf } from "./modules.js";
import { jsonIn, moduleFile, moduleFileAnywhere, objectIn } from "./module-file.js";
import type { ReadModule } from "./module-file.js";

/** What a name at the top of a file stands for: a variable's value, or a declaration. */
export interface Declared {
  readonly node: TypeScript.Node;
  readonly module: Module;
}

/** The names at the top of one file of the app, without asking the type checker. */
export class Module {
  #declared: ReadonlyMap<string, TypeScript.Node> | undefined;

  constructor(
    readonly file: string,
    readonly source: TypeScript.SourceFile,
    readonly imports: ReadonlyMap<string, Import>,
  ) {}

  declared(name: string): TypeScript.Node | undefined {
    this.#declared ??= new Map(this.source.statements.flatMap(valuesOf));
    return this.#declared.get(name);
  }

  localOf(exported: string): string {
    const named = this.source.statements.flatMap((statement) => {
      if (!ts.isExportDeclaration(statement) || statement.moduleSpecifier !== undefined) return [];
      const { exportClause } = statement;
      return exportClause && ts.isNamedExports(exportClause) ? [...exportClause.elements] : [];
    });
    const found = named.find(({ name }) => name.text === exported);
    return (found?.propertyName ?? found?.name)?.text ?? exported;
  }
}

function valuesOf(statement: TypeScript.Statement): [string, TypeScript.Node][] {
  return declarationsOf(statement).flatMap(([name, node]): [string, TypeScript.Node][] => {
    const hasValue =
      ts.isFunctionDeclaration(node) || ts.isClassDeclaration(node) || ts.isEnumDeclaration(node);
    const value = ts.isVariableDeclaration(node) ? node.initializer : hasValue ? node : undefined;
    return value === undefined ? [] : [[name, value]];
  });
}

/** The files of the app that definitions take values from. Each is parsed at most once. */
export class AppModules {
  readonly #read: ReadModule;
  readonly #modules = new Map<string, Module>();
  #packages: readonly string[] | undefined;

  constructor(read: ReadModule) {
    this.#read = read;
  }

  /** Whether a module is of Node or of the app's packages: no file of the app, and no alias. */
  isPackage(module: string, from: string): boolean {
    if (!isBareName.test(module) || moduleFileAnywhere(from, module, this.#read)) return false;
    this.#packages ??= packagesOf(this.#read);
    return isBuiltin(module) || this.#packages.some((name) => `${module}/`.startsWith(name));
  }

  /** What a name stands for in a module: declared there, or in the file it is imported from. */
  find(name: string, module: Module): Declared | undefined {
    const node = module.declared(name);
    if (node !== undefined) return { node, module };
    const from = module.imports.get(name);
    return from && this.#exported(from.imported, module.file, from.module);
  }

  /** What a member of a whole imported module stands for: `schemas.order`. */
  member(name: string, of: string, module: Module): Declared | undefined {
    const from = module.imports.get(of);
    if (from?.imported !== "*") return undefined;
    return this.#exported(name, module.file, from.module);
  }

  #exported(
    name: string,
    from: string,
    specifier: string,
    seen: ReadonlySet<string> = new Set(),
  ): Declared | undefined {
    const module = this.#module(from, specifier);
    if (module === undefined || seen.has(module.file)) return undefined;
    const local = module.localOf(name);
    const node = module.declared(local);
    if (node !== undefined) return { node, module };
    const path = new Set([...seen, module.file]);
    for (const { exported, imported, module: other } of reexportsOf(module.source)) {
      if (exported !== "*" && exported !== name) continue;
      const wanted = exported === "*" ? name : imported;
      const found = this.#exported(wanted, module.file, other, path);
      if (found !== undefined) return found;
    }
    return undefined;
  }

  #module(from: string, specifier: string): Module | undefined {
    const found = moduleFile(from, specifier, this.#read);
    if (found === undefined) return undefined;
    const { file, text } = found;
    const known = this.#modules.get(file);
    if (known !== undefined) return known;
    const source = bareSource(file, text);
    if (source === undefined) return undefined;
    const module = new Module(file, source, importsOf(source));
    this.#modules.set(file, module);
    return module;
  }
}

/** `lodash`, `@scope/name`; not `./lists`, `@/lists` or `#lists`. */
const isBareName = /^(?:@[\w-][\w.-]*\/)?[\w-]/;

/** Of the nearest manifests; without any, every name is one of a package. */
function packagesOf(read: ReadModule): string[] {
  const paths = ["../package.json", "../../package.json", "../../../package.json"];
  const there = paths.filter((path) => read(path) !== undefined);
  const manifests = there.map((path) => objectIn(jsonIn(path, read)));
  const names = manifests.flatMap((manifest) =>
    fields.flatMap((field) => namesIn(objectIn(manifest[field]))),
  );
  return manifests.length === 0 ? [""] : names.map((name) => `${name}/`);
}

/** A version such as `workspace:*` or `link:../flows` stands for a package of the app's own. */
const namesIn = (versions: Readonly<Record<string, unknown>>): string[] =>
  Object.keys(versions).filter(
    (name) => !/^(workspace|link|file|portal):/.test(`${versions[name]}`),
  );

const fields = ["dependencies", "devDependencies", "peerDependencies", "optionalDependencies"];
