/**
 * A small document printer with the layout rules of Prettier, so that what the compiler writes is what Prettier would
 * write. Running Prettier itself would cost eight times as much as generating the text.
 *
 * A document is text, a sequence, or one of: a line (a space or nothing while its group stays on one line), an indentation,
 * a group (on one line when it fits), or a choice between layouts.
 */
export type Doc = string | readonly Doc[] | Command;

type Command =
  | { readonly type: "line"; readonly flat: string; readonly hard: boolean }
  | { readonly type: "indent"; readonly content: Doc }
  | {
      readonly type: "group";
      readonly content: Doc;
      readonly broken: boolean;
      readonly id?: symbol;
    }
  | { readonly type: "choice"; readonly states: readonly Doc[] }
  | { readonly type: "ifBreak"; readonly broken: Doc; readonly flat: Doc; readonly id?: symbol };

/** A space, or a line end when the group around it is broken. */
export const line: Doc = { type: "line", flat: " ", hard: false };
/** Nothing, or a line end when the group around it is broken. */
export const softline: Doc = { type: "line", flat: "", hard: false };
/** Always a line end; it breaks every group around it. */
export const hardline: Doc = { type: "line", flat: "", hard: true };

export const indent = (content: Doc): Doc => ({ type: "indent", content });

export function group(content: Doc, options: { broken?: boolean; id?: symbol } = {}): Doc {
  const broken = options.broken === true || hasHardline(content);
  return { type: "group", content, broken, id: options.id };
}

/** The first of the layouts whose first line fits; the last one when none does. */
export const choice = (...states: Doc[]): Doc => ({ type: "choice", states });

export const ifBreak = (broken: Doc, flat: Doc = "", id?: symbol): Doc => ({
  type: "ifBreak",
  broken,
  flat,
  id,
});

export function join(separator: Doc, parts: readonly Doc[]): Doc[] {
  return parts.flatMap((part, index) => (index === 0 ? [part] : [separator, part]));
}

/** Whether a document cannot stand on one line. */
export function hasHardline(doc: Doc): boolean {
  if (typeof doc === "string") return false;
  if (isSequence(doc)) return doc.some(hasHardline);
  if (doc.type === "line") return doc.hard;
  if (doc.type === "group") return doc.broken;
  if (doc.type === "indent") return hasHardline(doc.content);
  if (doc.type === "ifBreak") return hasHardline(doc.flat);
  return hasHardline(doc.states[0] ?? "");
}

type Mode = "flat" | "broken";
interface Frame {
  readonly indent: number;
  readonly mode: Mode;
  readonly doc: Doc;
}

/** Lays a document out within `width` columns, starting at the beginning of a line. */
export function print(doc: Doc, width = 80): string {
  const modes = new Map<symbol, Mode>();
  const rest: Frame[] = [{ indent: 0, mode: "broken", doc }];
  let text = "";
  let column = 0;
  // After a line end inside something flat, what follows is on a line of its own and is measured anew.
  let remeasure = false;
  for (let frame = rest.pop(); frame !== undefined; frame = rest.pop()) {
    const { indent: margin, mode, doc: current } = frame;
    if (typeof current === "string") {
      text += current;
      column += current.length;
    } else if (isSequence(current)) {
      pushAll(rest, current, margin, mode);
    } else if (current.type === "indent") {
      rest.push({ indent: margin + 2, mode, doc: current.content });
    } else if (current.type === "ifBreak") {
      rest.push({ indent: margin, mode, doc: chosen(current, mode, modes) });
    } else if (current.type === "line") {
      if (mode === "flat" && !current.hard) {
        text += current.flat;
        column += current.flat.length;
      } else {
        text += "\n" + " ".repeat(margin);
        column = margin;
        remeasure ||= mode === "flat";
      }
    } else {
      const isFlat = mode === "flat" && !remeasure;
      remeasure = false;
      const measured: Measured = { isFlat, margin, rest, room: width - column, modes };
      const next =
        current.type === "group"
          ? layOutGroup(current, measured)
          : layOutChoice(current.states, measured);
      if (current.type === "group" && current.id !== undefined) modes.set(current.id, next.mode);
      rest.push(next);
    }
  }
  return text;
}

/** Where a group or a choice stands. */
interface Measured {
  /** Whether it is part of something that was found to fit. */
  readonly isFlat: boolean;
  readonly margin: number;
  readonly rest: readonly Frame[];
  readonly room: number;
  readonly modes: ReadonlyMap<symbol, Mode>;
}

function layOutGroup(group: { content: Doc; broken: boolean }, measured: Measured): Frame {
  const flat: Frame = { indent: measured.margin, mode: "flat", doc: group.content };
  if (!group.broken && (measured.isFlat || fits(flat, measured))) return flat;
  return { ...flat, mode: "broken" };
}

function layOutChoice(states: readonly Doc[], measured: Measured): Frame {
  const [first = ""] = states;
  const flat: Frame = { indent: measured.margin, mode: "flat", doc: first };
  if (measured.isFlat || fits(flat, measured)) return flat;
  for (const state of states.slice(1)) {
    // Flat but for the groups in it that are broken: those are what the layouts differ in.
    const candidate: Frame = { ...flat, doc: state };
    if (fits(candidate, measured)) return candidate;
  }
  return { ...flat, mode: "broken", doc: states.at(-1) ?? "" };
}

/** Whether everything up to the first line end that is sure to come fits into `room` columns. */
function fits(start: Frame, { rest, room, modes }: Measured): boolean {
  let left = room;
  let restIndex = rest.length;
  const stack: Frame[] = [start];
  while (left >= 0) {
    const frame = stack.pop() ?? rest[--restIndex];
    if (frame === undefined) return true;
    const { indent: margin, mode, doc } = frame;
    if (typeof doc === "string") left -= doc.length;
    else if (isSequence(doc)) pushAll(stack, doc, margin, mode);
    else if (doc.type === "indent") stack.push({ indent: margin, mode, doc: doc.content });
    else if (doc.type === "ifBreak")
      stack.push({ indent: margin, mode, doc: chosen(doc, mode, modes) });
    else if (doc.type === "group")
      stack.push({ indent: margin, mode: doc.broken ? "broken" : mode, doc: doc.content });
    else if (doc.type === "choice") {
      const state = mode === "broken" ? doc.states.at(-1) : doc.states[0];
      stack.push({ indent: margin, mode, doc: state ?? "" });
    } else if (mode === "broken" || doc.hard) return true;
    else left -= doc.flat.length;
  }
  return false;
}

/** The parts of a sequence, the first of them on top. In place, as all of a file goes through here several times. */
function pushAll(stack: Frame[], parts: readonly Doc[], margin: number, mode: Mode): void {
  for (let at = parts.length - 1; at >= 0; at--)
    stack.push({ indent: margin, mode, doc: parts[at] ?? "" });
}

function chosen(
  doc: { broken: Doc; flat: Doc; id?: symbol },
  mode: Mode,
  modes: ReadonlyMap<symbol, Mode>,
): Doc {
  const decisive = doc.id === undefined ? mode : (modes.get(doc.id) ?? "flat");
  return decisive === "broken" ? doc.broken : doc.flat;
}

/** `Array.isArray` does not narrow a readonly array out of a union. */
function isSequence(doc: Doc): doc is readonly Doc[] {
  return Array.isArray(doc);
}
