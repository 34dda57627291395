/** How a terminal is told to begin and to end what is painted. */
const codes = {
  bold: [1, 22],
  dim: [2, 22],
  red: [31, 39],
  green: [32, 39],
  yellow: [33, 39],
  cyan: [36, 39],
} as const;

export type Colors = Readonly<Record<keyof typeof codes, (text: string) => string>>;

/** Paints texts for a terminal with colors; for one without, each stays as it is. */
export function colorsIf(hasColors: boolean): Colors {
  const paint = (color: keyof typeof codes) => (text: string) =>
    hasColors ? `\u001b[${codes[color][0]}m${text}\u001b[${codes[color][1]}m` : text;
  return {
    bold: paint("bold"),
    dim: paint("dim"),
    red: paint("red"),
    green: paint("green"),
    yellow: paint("yellow"),
    cyan: paint("cyan"),
  };
}

/** Says whether what is printed is shown in colors, by the habits of terminals and of CI. */
export function isColorSupported({ env, platform, stdout } = process): boolean {
  if (env["NO_COLOR"]) return false;
  if (env["FORCE_COLOR"] || env["CI"] || platform === "win32") return true;
  return stdout.isTTY && env["TERM"] !== "dumb";
}
