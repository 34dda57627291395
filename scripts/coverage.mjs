// Which lines of the components the simulator's seeds and scenes execute: `npm run coverage --
// --seeds 1000`. Prints the share of each package, and the lines that nothing has executed.
import { mkdirSync, readdirSync, readFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { dirname, join, relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { bundleSimulator, playSeeds } from "./simulator.mjs";

const { values } = parseArgs({
  options: {
    seeds: { type: "string", default: "1000" },
    from: { type: "string", default: "1" },
    class: { type: "string", default: "s16" },
    profile: { type: "string", default: "mixed" },
    processes: { type: "string", default: String(availableParallelism()) },
  },
});
const root = fileURLToPath(new URL("..", import.meta.url));
const COUNTED = /^packages\/(workflow\/src\/component|workpool\/src)\//;
/** More than there are. */
const MOST_SCENES = 20;
const LEFT_OUT = /_generated|\.config\.ts$|\/test\.ts$/;

const DIGITS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/** The numbers of one segment of a source map, each relative to the one before it. */
function decoded(segment) {
  const numbers = [];
  let [value, shift] = [0, 0];
  for (const digit of segment) {
    const bits = DIGITS.indexOf(digit);
    value |= (bits & 31) << shift;
    shift += 5;
    if ((bits & 32) !== 0) continue;
    numbers.push(value & 1 ? -(value >> 1) : value >> 1);
    [value, shift] = [0, 0];
  }
  return numbers;
}

/** Where in the bundle each line of a source has come to: `[file, line, offset]`. */
function* placesIn(outfile) {
  const bundle = readFileSync(outfile, "utf8");
  const map = JSON.parse(readFileSync(`${outfile}.map`, "utf8"));
  const files = map.sources.map((source) => relative(root, resolve(dirname(outfile), source)));
  let [file, line, start] = [0, 0, 0];
  const texts = bundle.split("\n");
  for (const [number, segments] of map.mappings.split(";").entries()) {
    let column = 0;
    for (const segment of segments === "" ? [] : segments.split(",")) {
      const [columns = 0, inFile = 0, lines = 0] = decoded(segment);
      column += columns;
      file += inFile;
      line += lines;
      yield [files[file], line + 1, start + column];
    }
    start += (texts[number]?.length ?? 0) + 1;
  }
}

/** By offset, how often the innermost function or block around it was executed. */
function countsOf({ functions }) {
  const ranges = functions.flatMap((each) => each.ranges);
  // Outer ones first: what comes later is further inside.
  ranges.sort((a, b) => a.startOffset - b.startOffset || b.endOffset - a.endOffset);
  const last = ranges.reduce((most, { endOffset }) => Math.max(most, endOffset), 0);
  const counts = new Uint8Array(last + 1);
  for (const { startOffset, endOffset, count } of ranges)
    counts.fill(Math.min(1, count), startOffset, endOffset);
  return counts;
}

const { outfile, remove } = await bundleSimulator({ isFromSource: true });
try {
  const folder = join(dirname(outfile), "coverage");
  mkdirSync(folder);
  const play = async (seeds, from, profile) =>
    await playSeeds(outfile, {
      seeds,
      from,
      class: values.class,
      profile,
      shrink: false,
      processes: Number(values.processes),
      env: { NODE_V8_COVERAGE: folder },
      print: (line) => void (line.startsWith("seed") && console.log(line)),
    });
  await play(Number(values.seeds), Number(values.from), values.profile);
  await play(MOST_SCENES, 1, "scenes");
  const all = readdirSync(folder)
    .map((file) => JSON.parse(readFileSync(join(folder, file), "utf8")))
    .flatMap(({ result }) => result.filter(({ url }) => url.endsWith("main.mjs")))
    .map(countsOf);
  const executed = new Map();
  for (const [file, line, offset] of placesIn(outfile)) {
    if (!COUNTED.test(file) || LEFT_OUT.test(file)) continue;
    const lines = executed.get(file) ?? new Map();
    executed.set(file, lines);
    lines.set(line, lines.get(line) === true || all.some((counts) => counts[offset] === 1));
  }
  const sums = new Map();
  for (const [file, lines] of [...executed].toSorted(([a], [b]) => (a < b ? -1 : 1))) {
    const [part] = COUNTED.exec(file);
    const sum = sums.get(part) ?? { lines: 0, executed: 0 };
    sums.set(part, sum);
    sum.lines += lines.size;
    sum.executed += [...lines.values()].filter(Boolean).length;
    const missed = [...lines].filter(([, is]) => !is).map(([line]) => line);
    if (missed.length > 0) console.log(`${file}: ${missed.toSorted((a, b) => a - b).join(" ")}`);
  }
  for (const [part, { lines, executed: count }] of sums)
    console.log(`${part}: ${count} of ${lines} lines, ${((100 * count) / lines).toFixed(1)} %`);
} finally {
  remove();
}
