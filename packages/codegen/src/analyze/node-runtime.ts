import { builtinModules } from "node:module";
import { ts } from "../typescript.js";
import { diagnostic, placeAt, quote } from "../diagnostics/diagnostic.js";
import type { Diagnostic, Place } from "../diagnostics/diagnostic.js";
import type { DefinitionFile } from "./parser.js";
import { callsIn } from "./descendants.js";
import { nodeDirective } from "./node-directive.js";
import { loadedBy, mayLoad, namesOf, specifierOf } from "./modules.js";
import { valueUses } from "./values-used.js";
import { isGenerated, moduleFile, type ReadModule } from "./module-file.js";
import { isHidden } from "./scoping.js";

/** A module that a definition takes values from, so it is bundled for Convex's own runtime. */
export interface UsedModule {
  readonly module: string;
  readonly place: Place;
  /** Where the first of its values is used, and what that is called there. */
  readonly use?: { readonly name: string; readonly place: Place };
}

export function usedModules(file: DefinitionFile, read: ReadModule): UsedModule[] {
  const { source, placeOf } = file;
  const written = source.statements.flatMap((statement): UsedModule[] => {
    const specifier = specifierOf(statement);
    const names = namesOf(statement);
    if (specifier === undefined || names?.length === 0) return [];
    const module = specifier.text;
    const place = placeOf(specifier);
    if (!ts.isImportDeclaration(statement)) return [{ module, place }];
    if (!mayMatter(module, file.file, read)) return [];
    // An import without names is there for what it does.
    if (names === undefined) return [{ module, place }];
    const [id] = valueUses(source, (name) => names.includes(name));
    const use = id && { name: id.text, place: placeOf(id) };
    return use === undefined ? [] : [{ module, place, use }];
  });
  return [...written, ...(mayLoad(source.text) ? loadedModules(file) : [])];
}

/** Returns false if the name of an import says enough, as most do: finding uses takes time. */
function mayMatter(module: string, from: string, read: ReadModule): boolean {
  if (isBuiltIn(module)) return true;
  if (/\.workflow(\.js|\.ts)?$/.test(module) || isGenerated(module)) return false;
  return module.startsWith(".") || moduleFile(from, module, read) !== undefined;
}

function loadedModules({ source, placeOf }: DefinitionFile): UsedModule[] {
  return callsIn(source).flatMap((call): UsedModule[] => {
    const [argument] = call.arguments;
    const isOwn = ts.isIdentifier(call.expression) && isHidden(call.expression);
    const module = loadedBy(call)?.name;
    if (isOwn || argument === undefined || module === undefined) return [];
    return [{ module, place: placeOf(argument) }];
  });
}

/**
 * Returns what of a definition cannot run where inline handlers do: Convex's runtime, without Node.
 */
export function checkRuntime(
  file: string,
  text: string,
  modules: readonly UsedModule[],
  read: ReadModule,
): Diagnostic[] {
  const directive = nodeDirective(text);
  const own = directive === undefined ? [] : [ownDirective(file, text, directive)];
  const used = modules.flatMap(({ module, place, use }): Diagnostic[] => {
    const related = use === undefined ? [] : [{ message: "used here", place: use.place }];
    const what = use === undefined ? "this file loads" : `${quote(use.name)} comes from`;
    if (isBuiltIn(module)) {
      const message = `${what} ${quote(module)}, a part of Node, which is not there in Convex's own runtime, where inline handlers run`;
      return [diagnostic("nodeBuiltIn", place, message, pointAtIt, ...related)];
    }
    const found = moduleFile(file, module, read);
    if (found === undefined || nodeDirective(found.text) === undefined) return [];
    const message = `${what} ${found.file}, which says "use node"; inline handlers run in Convex's own runtime, without Node`;
    return [diagnostic("nodeFile", place, message, pointAtIt, ...related)];
  });
  return [...own, ...used];
}

const pointAtIt =
  'put the code into a function of a "use node" file, and point a step at it: `action: internal.file.name, args: …`';

function ownDirective(file: string, text: string, at: number): Diagnostic {
  const place = placeAt(file, text, at, 10);
  const message = `${file} says "use node", but a definition runs in Convex's own runtime`;
  return diagnostic("nodeFile", place, message, `remove that; ${pointAtIt}`);
}

/** Also names of packages that do the same without Node, and what Convex itself provides. */
const replaceable = new Set(
  "assert async_hooks buffer console constants events path process punycode querystring stream string_decoder timers url util".split(
    " ",
  ),
);

function isBuiltIn(module: string): boolean {
  if (module.startsWith("node:")) return module !== "node:async_hooks";
  const [name = ""] = module.split("/");
  return builtinModules.includes(module) && !replaceable.has(name);
}
