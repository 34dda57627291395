/*
 * What the compiler is measured against: to import ts-morph and to parse the definition files, and
 * nothing else. Arguments: where ts-morph is, the functions folder.
 */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

const [library = "", folder = ""] = process.argv.slice(2);

/** As much of ts-morph as is used here; the benchmarks do not depend on it themselves. */
interface TsMorph {
  readonly Project: new (options: object) => { createSourceFile(path: string, text: string): void };
}

const { Project } = (await import(library)) as TsMorph;
const project = new Project({ useInMemoryFileSystem: true, skipLoadingLibFiles: true });
for (const file of readdirSync(folder, { recursive: true, encoding: "utf8" }))
  if (file.endsWith(".workflow.ts"))
    project.createSourceFile(`/${file}`, readFileSync(join(folder, file), "utf8"));
