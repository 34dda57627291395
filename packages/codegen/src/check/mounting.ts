import { diagnostic, quote, type Diagnostic } from "../diagnostics/diagnostic.js";
import { howToMount, mountedAstray } from "../init/convex-config.js";
import type { ConvexConfig } from "./config.js";
import { configFile } from "../plan/paths.js";

/** Reports if the app plainly does not mount the component under the name generated code uses. */
export function checkMounting({ file, text }: ConvexConfig, wanted: string): Diagnostic[] {
  const missed = `generated code finds no \`components.${wanted}\``;
  if (text === undefined) {
    const place = { file, line: 1, column: 1 };
    const message = `there is no ${file} that mounts the workflow component, so ${missed}`;
    return [diagnostic("unmounted", place, message, howToMount(wanted))];
  }
  const astray = mountedAstray(file, text, wanted);
  if (astray === undefined) return [];
  const { place, name } = astray;
  if (name === undefined) {
    const message = `${file} does not mount the workflow component, so ${missed}`;
    return [diagnostic("unmounted", place, message, howToMount(wanted))];
  }
  const message = `${file} mounts the workflow component as "${name}", so ${missed}`;
  const hint = `write \`component: ${quote(name)}\` into ${configFile}, or mount it as "${wanted}"`;
  return [diagnostic("unmounted", place, message, hint)];
}
