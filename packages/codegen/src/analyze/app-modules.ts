import { isBuiltin } from "node:module";
import { ts, type TypeScript } from "../ts-morph.js";
import { declarationsOf } from "./scoping.js";
import { bareSource } from "./descendants.js";
import { type Import, importsOf, reexportsOf } from "./modules.js";
import { moduleFile, type ReadModule } from "./module-file.js";

/** What a name at the top of a file stands for: a variable's value, or a declaration. */
export interface Declared {
  readonly node: TypeScript.Node;
  readonly module: Module;
}

/** The names at the top of one file of the app, without asking the type checker. */
export class Module {
  #declared: ReadonlyMap<string, TypeScript.Node> | undefined;

  /** @param file its path in the functions folder */
  constructor(
    readonly file: string,
    readonly source: TypeScript.SourceFile,
    readonly imports: ReadonlyMap<string, Import>,
  ) {}

  declared(name: string): TypeScript.Node | undefined {
    this.#declared ??= new Map(this.source.statements.flatMap(valuesOf));
    return this.#declared.get(name);
  }

  /** The local name of what is exported under a name. */
  localOf(exported: string): string {
    for (const statement of this.source.statements) {
      if (!ts.isExportDeclaration(statement) || statement.moduleSpecifier !== undefined) continue;
      const { exportClause } = statement;
      if (exportClause === undefined || !ts.isNamedExports(exportClause)) continue;
      const found = exportClause.elements.find(({ name }) => name.text === exported);
      if (found !== undefined) return (found.propertyName ?? found.name).text;
    }
    return exported;
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
  #packages: { readonly names: readonly string[] | undefined } | undefined;

  /** @param read gives the files of the functions folder */
  constructor(read: ReadModule) {
    this.#read = read;
  }

  /** Whether a bare module name is of Node or of the app's packages, and not an alias. */
  isPackage(module: string): boolean {
    this.#packages ??= packagesOf(this.#read);
    const { names } = this.#packages;
    const isNamed = (name: string) => module === name || module.startsWith(`${name}/`);
    return names === undefined || isBuiltin(module) || names.some(isNamed);
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

/** The packages that the app says it uses, in the nearest manifests; undefined when it has none. */
function packagesOf(read: ReadModule): { names: string[] | undefined } {
  const manifests = ["../package.json", "../../package.json", "../../../package.json"].flatMap(
    (path) => read(path) ?? [],
  );
  if (manifests.length === 0) return { names: undefined };
  return { names: manifests.flatMap(dependenciesOf) };
}

const fields = ["dependencies", "devDependencies", "peerDependencies", "optionalDependencies"];

function dependenciesOf(manifest: string): string[] {
  try {
    const parsed: unknown = JSON.parse(manifest);
    return Object.entries(parsed ?? {}).flatMap(([field, value]) =>
      fields.includes(field) && typeof value === "object" ? Object.keys(value ?? {}) : [],
    );
  } catch {
    return [];
  }
}
