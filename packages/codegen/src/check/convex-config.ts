import { convexConfigFiles } from "../plan/paths.js";

/** The app's own config, as it is there. */
export interface ConvexConfig {
  readonly file: string;
  /** Undefined when there is no such file. */
  readonly text: string | undefined;
}

/**
 * The app's own config; undefined where that says nothing: there is none, and Convex has not generated anything either, so this is no app that it
 * knows yet.
 *
 * @param read gives files of the functions folder; undefined for those that are not there
 */
export function convexConfig(read: (file: string) => string | undefined): ConvexConfig | undefined {
  for (const file of convexConfigFiles) {
    const text = read(file);
    if (text !== undefined) return { file, text };
  }
  const isApp = ["_generated/api.d.ts", "_generated/api.ts"].some(
    (file) => read(file) !== undefined,
  );
  return isApp ? { file: convexConfigFiles[0], text: undefined } : undefined;
}
