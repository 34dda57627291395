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

/**
 * A file in the cache folder that tools share, by convention, beside the nearest package.json: in the output folder it would be
 * committed, and every edit of a comment would then be a change there. Nothing is kept where there is no package.
 */
export class CacheFile {
  readonly #path: string | undefined;

  /**
   * @param name what it is called, before what tells one app from another
   * @param identity of the compiler: another one does not understand what this one keeps
   */
  constructor(
    functionsDir: string,
    name: string,
    private readonly identity: string,
  ) {
    const folder = packageFolder(functionsDir);
    const app = createHash("sha256").update(functionsDir).digest("hex").slice(0, 16);
    this.#path =
      folder && join(folder, "node_modules", ".cache", "stepwise", `${name}-${app}.json`);
  }

  /** Undefined when there is none, or it is damaged or of another compiler. */
  read(): Buffer | undefined {
    try {
      const bytes = this.#path === undefined ? Buffer.of() : readFileSync(this.#path);
      const body = bytes.subarray(bytes.indexOf("\n") + 1);
      const head = this.#headOf(body);
      return bytes.length === head.length + body.length && bytes.indexOf(head) === 0
        ? body
        : undefined;
    } catch {
      return undefined;
    }
  }

  #headOf(body: Buffer): string {
    return `${this.identity} ${createHash("sha256").update(body).digest("hex")}\n`;
  }

  /** A cache that cannot be written, on a read-only disk for example, costs time and nothing else. */
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

function packageFolder(functionsDir: string): string | undefined {
  let folder = dirname(functionsDir);
  while (!existsSync(join(folder, "package.json"))) {
    const above = dirname(folder);
    if (above === folder) return undefined;
    folder = above;
  }
  return folder;
}
