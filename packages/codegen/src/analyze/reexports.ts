import { moduleFile, modulePath, type ReadModule } from "./module-file.js";
import type { ModuleFacts } from "./import-cycles.js";

/** A name that a file hands on from another one. */
export interface Reexport {
  /** The name under which it does; `*` for all that the other file exports. */
  readonly exported: string;
  /** The name in the other file; `*` for all of it. */
  readonly imported: string;
  /** The other file, as it is named there. */
  readonly module: string;
}

/** The names that files hand on, by file without its ending, as the other files are too. */
export type Reexports = ReadonlyMap<string, readonly Reexport[]>;

/** A name in a file, which is given without its ending. */
export interface NameIn {
  readonly module: string;
  readonly name: string;
}

/** What files hand on: a workflow may be named through files that only re-export it. */
export async function allReexports(
  files: readonly FileFacts[],
  read: ReadModule,
  reexportsIn: (file: string, text: string) => Promise<readonly Reexport[]>,
): Promise<Reexports> {
  const reexports = new Map<string, readonly Reexport[]>();
  const waiting: { from: string; module: string }[] = [];
  const add = (path: string, from: string, found: readonly Reexport[]) => {
    const placed = found.flatMap((each): Reexport[] => {
      const module = modulePath(from, each.module, read);
      return module === undefined ? [] : [{ ...each, module }];
    });
    reexports.set(path, placed);
    waiting.push(...found.map(({ module }) => ({ from, module })));
  };
  for (const { file, reexports: found } of files) add(withoutEnding(file), file, found);
  for (const { file, imports } of files)
    waiting.push(...imports.map((module) => ({ from: file, module })));
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    const found = moduleFile(next.from, next.module, read);
    if (found === undefined || reexports.has(found.path)) continue;
    const { path, file, text } = found;
    add(path, file, /\bexport\s*[{*]/.test(text) ? await reexportsIn(file, text) : []);
  }
  return reexports;
}

/** Where a name may be declared: in the file itself, then in those it is handed on from. */
export function placesOf(
  target: NameIn,
  reexports: Reexports,
  seen: ReadonlySet<string> = new Set(),
): NameIn[] {
  const key = `${target.module}\n${target.name}`;
  if (seen.has(key)) return [];
  const path = new Set([...seen, key]);
  const further = (reexports.get(target.module) ?? [])
    .filter(({ exported, imported }) =>
      exported === "*" ? target.name !== "default" : exported === target.name && imported !== "*",
    )
    .flatMap(({ exported, imported, module }) =>
      placesOf({ module, name: exported === "*" ? target.name : imported }, reexports, path),
    );
  return [target, ...further];
}

export const withoutEnding = (file: string): string => file.replace(/\.[jt]s$/, "");

/** What other definition files may need to know of one, as data. */
export interface FileFacts {
  readonly file: string;
  /** Its workflows, by their exported names and the names of their variables. */
  readonly definitions: readonly { readonly name: string; readonly local: string }[];
  /** Every variable that a workflow is assigned to, also where something is wrong with it. */
  readonly locals: readonly string[];
  /** The modules that it imports values from. */
  readonly imports: readonly string[];
  readonly reexports: readonly Reexport[];
  readonly module: ModuleFacts;
}
