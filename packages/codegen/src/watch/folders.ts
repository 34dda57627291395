import { watch, type FSWatcher } from "node:fs";
import { join } from "node:path";
import { definitionFiles } from "../discover/definition-files.js";

/**
 * Watches the folders that may hold definitions, each by itself: on Linux, Node's recursive watching
 * holds one watcher a file, also in the output and in node_modules. It watches folders because many
 * editors replace a file to save it.
 */
export class WatchedFolders {
  readonly #watchers = new Map<string, FSWatcher>();

  /** @param isOwn whether the compiler writes a file, by its full path: such a change is ignored */
  constructor(
    private readonly functionsDir: string,
    private readonly onChange: () => void,
    private readonly isOwn: (path: string) => boolean,
  ) {
    this.sync();
  }

  /**
   * Watches folders that are new, and forgets those that are gone. Call it before files are read:
   * what is saved after that is then seen.
   */
  sync(): void {
    const folders = new Set(definitionFiles(this.functionsDir).folders);
    for (const folder of this.#watchers.keys()) if (!folders.has(folder)) this.#forget(folder);
    for (const folder of folders) if (!this.#watchers.has(folder)) this.#watch(folder);
  }

  close(): void {
    for (const folder of this.#watchers.keys()) this.#forget(folder);
  }

  #forget(folder: string): void {
    this.#watchers.get(folder)?.close();
    this.#watchers.delete(folder);
  }

  #watch(folder: string): void {
    const path = join(this.functionsDir, folder);
    try {
      const watcher = watch(path, (_event, name) => {
        // Not every system says which file it was.
        if (name === null || !this.isOwn(join(path, name))) this.onChange();
      });
      this.#watchers.set(folder, watcher);
      watcher.on("error", () => {
        this.#forget(folder);
        this.onChange();
      });
    } catch (error) {
      // It may have gone since it was found; one that cannot be read is reported by who reads it.
      const code = error instanceof Error && "code" in error ? String(error.code) : "";
      if (!["ENOENT", "EACCES", "EPERM"].includes(code)) throw error;
    }
  }
}
