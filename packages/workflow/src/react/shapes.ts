/* How nodes are drawn, by the shape that the graph says. */

type Outline = (width: number, height: number) => string;

interface Shape {
  readonly outline: Outline;
  /** How much wider it is than its text: slanted sides need more. */
  readonly room: number;
}

/** A box whose sides point outwards by so much. */
const pointed =
  (slant: number): Outline =>
  (w, h) =>
    `M${-w / 2} 0 ${-w / 2 + slant} ${-h / 2}H${w / 2 - slant}L${w / 2} 0 ${w / 2 - slant} ${h / 2}H${-w / 2 + slant}Z`;
const box: Outline = (w, h) => `M${-w / 2} ${-h / 2}H${w / 2}V${h / 2}H${-w / 2}Z`;
const rounded: Outline = (w, h) => {
  const r = Math.min(18, h / 2);
  const corner = (x: number, y: number) => `a${r} ${r} 0 0 1 ${x * r} ${y * r}`;
  return (
    `M${-w / 2 + r} ${-h / 2}h${w - 2 * r}${corner(1, 1)}v${h - 2 * r}${corner(-1, 1)}` +
    `h${2 * r - w}${corner(-1, -1)}v${2 * r - h}${corner(1, -1)}Z`
  );
};
/**
 * Functions are boxes, parents have two borders, waits are round, decisions are pointed, ends are
 * doubly round.
 */
const shapes: Readonly<Record<string, Shape>> = {
  run: { outline: box, room: 24 },
  fanOut: { outline: (w, h) => box(w, h) + box(w - 8, h - 8), room: 32 },
  wait: { outline: rounded, room: 36 },
  decision: { outline: pointed(26), room: 64 },
  loop: { outline: pointed(14), room: 52 },
  end: { outline: (w, h) => rounded(w, h) + rounded(w - 8, h - 8), room: 44 },
};

/** A shape that a newer compiler has made is drawn as a box. */
export const shapeOf = (name: string): Shape => shapes[name] ?? { outline: box, room: 24 };
