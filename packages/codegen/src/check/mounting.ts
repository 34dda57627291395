import { diagnostic, type Diagnostic } from "../diagnostics/diagnostic.js";
import { howToMount, mountedAstray } from "../init/convex-config.js";
import { configFile, convexConfigFiles } from "../plan/paths.js";

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

/** That the app does not mount the component under the name by which generated code looks for it. What is not plain to see is not told. */
export function checkMounting({ file, text }: ConvexConfig, wanted: string): Diagnostic[] {
  const missed = `generated code finds no \`components.${wanted}\``;
  if (text === undefined) {
    const place = { file, line: 1, column: 1 };
    const message = `there is no ${file} that mounts the workflow component, so ${missed}`;
    return [diagnostic("unmounted", place, message, { hint: howToMount(wanted) })];
  }
  const astray = mountedAstray(file, text, wanted);
  if (astray === undefined) return [];
  const { place, name } = astray;
  if (name === undefined) {
    const message = `${file} does not mount the workflow component, so ${missed}`;
    return [diagnostic("unmounted", place, message, { hint: howToMount(wanted) })];
  }
  const message = `${file} mounts the workflow component as "${name}", so ${missed}`;
  return [
    diagnostic("unmounted", place, message, {
      hint: `write \`component: ${JSON.stringify(name)}\` into ${configFile}, or mount it as "${wanted}"`,
    }),
  ];
}
