import { diagnostic, type Diagnostic, quote, startOf } from "../diagnostics/diagnostic.js";
import { howToMount, mountedAstray } from "../init/convex-config.js";
import type { ConvexConfig } from "./config.js";
import { configFile } from "../plan/paths.js";

export function checkMounting({ file, text }: ConvexConfig, wanted: string): Diagnostic[] {
  const missed = `generated code finds no \`components.${wanted}\``;
  const report = (place: Diagnostic["place"], what: string, hint = howToMount(wanted)) => [
    diagnostic("unmounted", place, `${what}, so ${missed}`, hint),
  ];
  if (text === undefined)
    return report(startOf(file), `there is no ${file} that mounts the workflow component`);
  const astray = mountedAstray(file, text, wanted);
  if (astray === undefined) return [];
  const { place, name } = astray;
  if (name === undefined) return report(place, `${file} does not mount the workflow component`);
  const hint = `write \`component: ${quote(name)}\` into ${configFile}, or mount it as "${wanted}"`;
  return report(place, `${file} mounts the workflow component as "${name}"`, hint);
}
