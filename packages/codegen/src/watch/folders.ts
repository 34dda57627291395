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
  readonly #watchers = new Map<string, FSWatcher>();

  constructor(functionsDir: string, onChange: () => void) {
    this.#functionsDir = functionsDir;
    this.#onChange = onChange;
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
      watcher = watch(join(this.#functionsDir, folder), () => this.#onChange());
    } catch (error) {
      // It may have gone since it was found.
      if (error instanceof Error && "code" in error && error.code === "ENOENT") return;
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
