import { hash, randomUUID } from "node:crypto";
import {
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { crc32 } from "node:zlib";

/** A file in `node_modules/.cache`; none for an app if there is no package.json around. */
export class CacheFile {
  /** @param identity of the compiler: another one does not understand what this one keeps. */
  private constructor(
    private readonly path: string | undefined,
    private readonly identity: string,
  ) {}

  static of(functionsDir: string, name: string, identity: string): CacheFile {
    const folder = packageFolder(dirname(functionsDir));
    const app = hash("sha256", functionsDir).slice(0, 16);
    const modules = folder && join(folder, "node_modules");
    return CacheFile.in(modules, `${name}-${app}.json`, identity);
  }

  static in(modules: string | undefined, name: string, identity: string): CacheFile {
    return new CacheFile(modules && join(modules, ".cache", "stepwise", name), identity);
  }

  /** Undefined if there is none, or it is damaged or of another compiler. */
  read(): Buffer | undefined {
    if (this.path === undefined) return undefined;
    try {
      const bytes = readFileSync(this.path);
      const at = bytes.indexOf("\n") + 1;
      const body = bytes.subarray(at);
      return bytes.toString("utf8", 0, at) === this.#headOf([body]) ? body : undefined;
    } catch {
      return undefined;
    }
  }

  /** A checksum finds what is damaged in a third of the time of a hash. */
  #headOf(parts: readonly Buffer[]): string {
    const sum = parts.reduce((before, part) => crc32(part, before), 0);
    return `${this.identity} ${sum}\n`;
  }

  /** Failing to write a cache costs time and nothing else. */
  write(make: () => readonly Buffer[]): void {
    if (this.path === undefined) return;
    const temporary = `${this.path}.${randomUUID()}`;
    try {
      mkdirSync(dirname(this.path), { recursive: true });
      const parts = make();
      writeFileSync(temporary, this.#headOf(parts));
      const file = openSync(temporary, "a");
      try {
        for (const part of parts) writeFileSync(file, part);
      } finally {
        closeSync(file);
      }
      renameSync(temporary, this.path);
    } catch {
      rmSync(temporary, { force: true });
    }
  }
}

export function packageFolder(folder: string): string | undefined {
  if (existsSync(join(folder, "package.json"))) return folder;
  const above = dirname(folder);
  return above === folder ? undefined : packageFolder(above);
}
