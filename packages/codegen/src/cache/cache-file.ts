import { createHash, randomUUID } from "node:crypto";
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";

/** A cache file of an app in `node_modules/.cache`; none if there is no package.json around. */
export class CacheFile {
  readonly #path: string | undefined;

  /** @param identity of the compiler: another one does not understand what this one keeps. */
  constructor(
    functionsDir: string,
    name: string,
    private readonly identity: string,
  ) {
    const folder = packageFolder(dirname(functionsDir));
    const app = createHash("sha256").update(functionsDir).digest("hex").slice(0, 16);
    const file = `${name}-${app}.json`;
    this.#path = folder && join(folder, "node_modules", ".cache", "stepwise", file);
  }

  /** Undefined if there is none, or it is damaged or of another compiler. */
  read(): Buffer | undefined {
    if (this.#path === undefined) return undefined;
    try {
      const bytes = readFileSync(this.#path);
      const body = bytes.subarray(bytes.indexOf("\n") + 1);
      const head = this.#headOf(body);
      const isWhole = bytes.length === head.length + body.length && bytes.indexOf(head) === 0;
      return isWhole ? body : undefined;
    } catch {
      return undefined;
    }
  }

  #headOf(body: Buffer): string {
    return `${this.identity} ${createHash("sha256").update(body).digest("hex")}\n`;
  }

  /** Failing to write a cache costs time and nothing else. */
  write(make: () => Buffer): void {
    if (this.#path === undefined) return;
    const temporary = `${this.#path}.${randomUUID()}`;
    try {
      mkdirSync(dirname(this.#path), { recursive: true });
      const body = make();
      writeFileSync(temporary, this.#headOf(body));
      appendFileSync(temporary, body);
      renameSync(temporary, this.#path);
    } catch {
      rmSync(temporary, { force: true });
    }
  }
}

function packageFolder(folder: string): string | undefined {
  if (existsSync(join(folder, "package.json"))) return folder;
  const above = dirname(folder);
  return above === folder ? undefined : packageFolder(above);
}
