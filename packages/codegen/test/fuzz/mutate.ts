/** Numbers from 0 to 1, the same for the same seed. */
export function randomOf(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

const token =
  /\s+|\/\/[^\n]*|\/\*[^]*?\*\/|"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|`(?:[^`\\]|\\.)*`|[\p{L}_$][\p{L}\p{N}_$]*|\d+|=>|\.\.\.|\?\.|./gsu;

/** Names that nobody should choose, each with a way to leave what it stands in. */
const hostile = [
  "",
  " ",
  '"',
  "'",
  "`",
  "\\",
  "*/",
  "/*",
  "//",
  "${process.exit(1)}",
  "`${1}`",
  "</script>",
  "\n",
  "\r\n",
  "\u2028",
  "\u0000",
  "\u001b[2J",
  "\ufeff",
  "\u202e",
  "../../../etc/passwd",
  "..",
  ".",
  "/absolute",
  "C:\\windows",
  "con",
  "index",
  "plan",
  "api",
  "__proto__",
  "constructor",
  "prototype",
  "toString",
  "hasOwnProperty",
  "then",
  "await",
  "class",
  "default",
  "enum",
  "eval",
  "arguments",
  "undefined",
  "NaN",
  "input",
  "output",
  "children",
  "finalize",
  "reference",
  "entry",
  "definition",
  "nodes",
  "own",
  "components",
  "_leading",
  "$money",
  "__",
  "a.b",
  "a-b",
  "1st",
  "Straße",
  "名前",
  "e\u0301",
  "😀",
  "\ud800",
  "x".repeat(59),
  "x".repeat(64),
  "x".repeat(65),
  "x".repeat(5000),
];

type Mutation = (tokens: string[], random: () => number) => void;

const at = (list: readonly unknown[], random: () => number): number =>
  Math.floor(random() * list.length);

/** A place in the list where something stands that is no white space. */
function place(tokens: readonly string[], random: () => number): number {
  const solid = [...tokens.keys()].filter((index) => tokens[index]?.trim() !== "");
  return solid[at(solid, random)] ?? 0;
}

const drop: Mutation = (tokens, random) => void tokens.splice(place(tokens, random), 1);

const double: Mutation = (tokens, random) => {
  const index = place(tokens, random);
  tokens.splice(index, 0, tokens[index] ?? "");
};

const swap: Mutation = (tokens, random) => {
  const [first, second] = [place(tokens, random), place(tokens, random)];
  [tokens[first], tokens[second]] = [tokens[second] ?? "", tokens[first] ?? ""];
};

/** A whole stretch taken from one place to another. */
const move: Mutation = (tokens, random) => {
  const taken = tokens.splice(place(tokens, random), 1 + Math.floor(random() * 12));
  tokens.splice(place(tokens, random), 0, ...taken);
};

/** A string becomes a hostile one; written as a string, or bare. */
const rename: Mutation = (tokens, random) => {
  const strings = [...tokens.keys()].filter((index) => /^["']/.test(tokens[index] ?? ""));
  const name = hostile[at(hostile, random)] ?? "";
  const index = strings[at(strings, random)] ?? 0;
  tokens[index] = random() < 0.9 ? JSON.stringify(name) : name;
};

/** A name becomes another one, wherever it stands. */
const renameAll: Mutation = (tokens, random) => {
  const names = [...new Set(tokens.filter((each) => /^[\p{L}_$]/u.test(each)))];
  const name = names[at(names, random)];
  const other = random() < 0.5 ? hostile[at(hostile, random)] : names[at(names, random)];
  for (const [index, each] of tokens.entries()) if (each === name) tokens[index] = other ?? "";
};

/**
 * A name becomes a hostile one wherever it stands, as a string or bare: what is left is as sound as
 * it was, if that name may be used.
 */
const renameThroughout: Mutation = (tokens, random) => {
  const bare = new Set(tokens.filter((each) => /^[\p{L}_$]/u.test(each)));
  const quoted = tokens.flatMap((each) => (/^"[\p{L}_$]/u.test(each) ? each.slice(1, -1) : []));
  // Names that stand in both ways are those of nodes that are read; a few others are those of
  // workflows.
  const names = [...new Set(quoted.filter((name) => bare.has(name) || random() < 0.2))];
  const exported = tokens.flatMap((each, index) =>
    each === "const" && tokens[index - 2] === "export" ? (tokens[index + 2] ?? []) : [],
  );
  const all = random() < 0.7 ? names : exported;
  const name = all[at(all, random)];
  const other = hostile[at(hostile, random)] ?? "";
  for (const [index, each] of tokens.entries()) {
    if (each === name) tokens[index] = other;
    else if (each === JSON.stringify(name)) tokens[index] = JSON.stringify(other);
  }
};

const destructive: readonly Mutation[] = [drop, double, swap, move, rename, rename, renameAll];

/** A definition with a few things wrong, or with a name that nobody should choose. */
export function mutate(text: string, random: () => number): string {
  const tokens = text.match(token) ?? [];
  if (random() < 0.4) renameThroughout(tokens, random);
  else {
    const count = 1 + Math.floor(random() * 3);
    for (let done = 0; done < count; done++) destructive[at(destructive, random)]?.(tokens, random);
  }
  return tokens.join("");
}
