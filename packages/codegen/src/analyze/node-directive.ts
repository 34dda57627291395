/** Returns where "use node" is among the directives at the top of a file, after any comments. */
export function nodeDirective(text: string): number | undefined {
  const part = /\s+|\/\/[^\n]*|\/\*[^]*?\*\/|(["'])([^"'\n]*)\1;?/y;
  for (let at = 0; ; at = part.lastIndex) {
    const [, , directive] = part.exec(text) ?? [];
    if (directive === "use node") return at;
    if (part.lastIndex === 0) return undefined;
  }
}
