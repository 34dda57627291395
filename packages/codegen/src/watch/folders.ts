import { watch, type FSWatcher } from "node:fs";
import { join } from "node:path";
import { definitionFiles } from "../discover/definition-files.js";

/**
 * Watches the folders that may hold definitions, each by itself: Node's recursive watching holds one watcher a file on Linux, and
 * looks into the output and into node_modules as well. Folders, not files, as many editors replace a file to save it.
 */
export class WatchedFolders {
  readonly #functionsDir: string;
  readonly #onChange: () => void;
  readonly #isOwn: (path: string) => boolean;
  readonly #watchers = new Map<string, FSWatcher>();

  /** @param isOwn whether a file, by its full path, is one that the compiler writes itself: a change of that is none to answer */
  constructor(functionsDir: string, onChange: () => void, isOwn: (path: string) => boolean) {
    this.#functionsDir = functionsDir;
    this.#onChange = onChange;
    this.#isOwn = isOwn;
    this.sync();
  }

  /**
   * Watches folders that are new, and forgets those that are gone. To be called before files are read: what is saved after that
   * is then seen.
   */
  sync(): void {
    const folders = new Set(definitionFiles(this.#functionsDir).folders);
    for (const [folder, watcher] of this.#watchers) {
      if (folders.has(folder)) continue;
      watcher.close();
      this.#watchers.delete(folder);
    }
    for (const folder of folders) if (!this.#watchers.has(folder)) this.#watch(folder);
  }

  close(): void {
    for (const watcher of this.#watchers.values()) watcher.close();
    this.#watchers.clear();
  }

  #watch(folder: string): void {
    let watcher: FSWatcher;
    try {
      const path = join(this.#functionsDir, folder);
      watcher = watch(path, (_event, name) => {
        // Not every system says which file it was.
        if (name === null || !this.#isOwn(join(path, name))) this.#onChange();
      });
    } catch (error) {
      // It may have gone since it was found; one that cannot be read is reported by who reads it.
      const code = error instanceof Error && "code" in error ? error.code : undefined;
      if (code === "ENOENT" || code === "EACCES" || code === "EPERM") return;
      throw error;
    }
    watcher.on("error", () => {
      watcher.close();
      this.#watchers.delete(folder);
      this.#onChange();
    });
    this.#watchers.set(folder, watcher);
  }
}
