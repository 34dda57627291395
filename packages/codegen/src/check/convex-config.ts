import { convexConfigFiles } from "../plan/paths.js";

export interface ConvexConfig {
  readonly file: string;
  readonly text: string | undefined;
}

/** The app's own config; undefined if there is none and Convex has generated nothing either. */
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
