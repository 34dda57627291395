/**
 * What a stage was called before its node was renamed; undefined where it was not.
 * @param renamed from old names to new ones.
 */
export function formerName(
  renamed: Readonly<Record<string, string>> | undefined,
  stage: string,
): string | undefined {
  for (const [old, name] of Object.entries(renamed ?? {}))
    if (stage === name || stage.startsWith(`${name}.`)) return old + stage.slice(name.length);
  return undefined;
}
