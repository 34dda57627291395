/**
 * The numbers of the pool and of the workflow component, each with the test that fails if it is
 * eight times as large or as small, or zero. `npm run mutations -- --list constants` tries them; its
 * --check says which number stands in no table.
 */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const packages = fileURLToPath(new URL("../packages/", import.meta.url));
const FOLDERS = ["workpool/src/core", "workpool/src/component", "workflow/src/component"];
/** A number that is written out; one that others make up has their reasons. */
const NUMBER = /^(?:export )?const ([A-Z][A-Z0-9_]*)(?:: number)? =\s+([\d_.e\s+*()<-]+);/gm;

const larger = (file, test) => ({ by: "* 8", file, test });
const smaller = (file, test) => ({ by: "/ 8", file, test });
const none = (file, test) => ({ by: "* 0", file, test });

/** By package and file, how a number is changed, and the test that then fails. */
const TABLE = {
  "workpool/src/core": {
    "carrier.ts": {
      LAST_TAKE_MS: smaller("carriers", "takes a work that comes 20 s later"),
      MOST_CARRIED: smaller("carriers", "two places run twelve works at once"),
      FIRST_TAKE_MS: larger("carriers", "two places run twelve works at once"),
    },
    "bursts.ts": {
      MOMENT_MS: smaller("bursts", "is started by a drain, at once"),
      STARTS_PER_JOIN: larger("numbers-slots", "one enqueue in 256 joins the queue"),
    },
    "drain-queue.ts": {
      QUIET_ROUNDS: larger("gate", "and opens when nothing waits any more"),
      STILL_WAITS_MS: larger("left-to-executors", "after both executors have died"),
    },
    "drain.ts": {
      PAUSE_MS: larger("gate", "and opens when nothing waits any more"),
      LATE_MS: larger("executors", "if a drain has not come for a second"),
    },
    "execution.ts": {
      AHEAD_EACH: smaller("ahead", "are used for seven eighths of the time"),
      AHEAD_MS: smaller("ahead", "are used for seven eighths of the time"),
      MOMENT_SHARE: smaller("limits-deployed", "works that begin together, as a pause ends"),
    },
    "executors.ts": {
      MOST_IN_VAIN: larger("executors", "long works among short ones cost no call each 50 ms"),
    },
    "fair.ts": {
      SLOTS_READ: larger("numbers-queue", "few slots are read, though a key holds 200"),
      POOL_LANES_PER_LANE: larger("numbers-queue", "take different works of one key"),
      LANES_OF_KEY: smaller("numbers-queue", "a pool of 200 has no lane that is a key's"),
      MOST_WEIGHT: larger("fairness", "is refused"),
      KEYS_SEEN: smaller("fairness", "gives way to who holds fewer"),
    },
    "gate.ts": {
      CLOSED_AT_LEAST_MS: larger("numbers-slots", "if nothing waits 3 s after it was closed"),
      MAX_PARALLELISM_LIMIT: larger("start", "an enqueue that cannot be meant is refused"),
      FEWEST_PLACES: larger("gate", "is 6 on the smallest class"),
      LEFT_TO_THE_APP: larger("gate", "is 6 on the smallest class"),
      MOST_BY_DEFAULT: larger("gate", "until something sets it"),
      LATE_BEGIN_MS: smaller("mutation-bursts", "a lone one costs one call"),
      REOPENED_AFTER_MS: smaller(
        "mutation-bursts",
        "none is refused, and each loses twice at most",
      ),
    },
    "given.ts": {
      LEVELS_OF_A_FIELD: larger("client", "what cannot be stored is refused with its place"),
    },
    "limits/buckets.ts": {
      CONTENDED_MS: larger("budgets", "the end books the difference, either way"),
      LONGEST_LOOK_MS: smaller("rates", "the releaser looks ever less often"),
    },
    "limits/limits.ts": {
      LONGEST_KEY: larger("limits", "a limit is refused"),
      MOST_WAITING: larger("refused", "is refused if it is no whole number from 0 to 1,000"),
      MOST_IN_GATE: larger("numbers", "the gate holds 100 limits, and no more"),
      MOST_OF_A_WORK: smaller("limits", "a work takes all that it needs, or nothing"),
    },
    "limits/rate.ts": {
      ROUND_MS: larger("rates-deployed", "enqueues at a rate of"),
      NEARLY_MS: none("numbers", "what a rate gives back is whole"),
    },
    "limits/seen.ts": {
      MOST_READ: larger("numbers", "100 are counted for a limit, and 1,000 for all"),
      MOST_OF_ALL: larger("numbers", "100 are counted for a limit, and 1,000 for all"),
    },
    "limits/waits-for.ts": {
      MOST_COUNTED: larger("numbers", "as many as 200 are counted that come before one"),
    },
    "limits/wake.ts": {
      MOST_WRITERS: smaller("rates-deployed", "a rate that never runs out costs works"),
    },
    "literal.ts": {
      SHOWN: larger("literal", "shows the beginning of a long text, and eight fields"),
      MOST_LEVELS: larger("literal", "shows three levels of a value"),
      MOST_FIELDS: smaller("literal", "shows the beginning of a long text, and eight fields"),
    },
    "log.ts": {
      MOST_LOGGED_AT_ONCE: larger("events", "of a large batch the first 100 are logged"),
    },
    "owner-looks.ts": {
      STARVED_MS: larger("left-to-executors", "of a range that long works fill"),
      OTHERS_MS: larger("numbers-queue", "are left to it for a fifth of a second"),
    },
    "owners.ts": {
      LOOKS_EVERY_MS: larger("left-to-executors", "after both executors have died"),
      SHORT_MS: smaller("limits", "in which that looks a last time lacks it"),
      TAKES_MS: larger("executors", "while one executor follows on another"),
      EXECUTORS_ON_FEW: larger("numbers-queue", "which runs 64 actions at once"),
      WIDTH: smaller("executors", "takes no more, and begins no third"),
      ASKS_EVERY_MS: larger("executors", "goes on to its end, and is not tried again"),
    },
    "report.ts": {
      LATER_MS: larger("numbers-slots", "scheduled at its end is waited for 130 minutes"),
      HELD_UP_MS: larger("numbers-slots", "though sweeps come late again and again: for a day"),
      FIRST_PAUSE_MS: larger("numbers", "that is refused once is repeated within a second"),
      REPEATS_MS: smaller("throttled", "is scheduled at the end of the action's time"),
      LONGEST_PAUSE_MS: larger("throttled", "is scheduled at the end of the action's time"),
    },
    "rest.ts": {
      REST_EVERY_MS: smaller("rest", "does so once a minute"),
    },
    "result.ts": {
      LONGEST_MESSAGE: larger("on-complete", "that throws as much as no document holds"),
      MAX_CAUSES: larger("workflow/texts", "up to five of them"),
    },
    "queue.ts": {
      LOOK: larger("numbers-queue", "an end reads a dozen works at most"),
      TURN_MS: larger("lanes", "a slot serves the lanes of all slots in turn"),
      FEW_PER_LANE: larger("numbers-queue", "few wait if every fourth lane has a work"),
      LARGE_POOL: smaller("conformance", "at once, no more and no fewer while others wait"),
    },
    "room.ts": {
      PAGE: larger("numbers-works", "as many as 100 works that were set aside"),
      MOST_TRIED: larger("numbers-queue", "tries 16 works at most that cannot start"),
      MIB: smaller("on-complete", "does not keep the work from ending"),
      READS_OF_REFUSED: smaller("saturation", "is enough for all that it may read of the queue"),
    },
    "shape.ts": {
      MAX_ELEMENTS: larger("client", "what cannot be stored is refused with its place"),
      MAX_FIELDS: larger("client", "what cannot be stored is refused with its place"),
      MAX_NAME: larger("client", "what cannot be stored is refused with its place"),
    },
    "slots.ts": {
      BETWEEN_ENDS_MS: larger("numbers-slots", "begins no drain if none is free"),
      MAX_HAND_OVERS: larger("conformance", "has a chain hand its slot on to itself at most"),
      MAX_HELD_MS: larger("hand-over", "for at most 2 s of hand-overs"),
      SLOTS_TO_KNOW: larger("numbers-slots", "a batch takes 30 of 50"),
      ENQUEUE_MS: larger("cost", "a delayed start or a retry: 1 more"),
      SLOTS_PER_ENQUEUE: smaller("conformance", "closes its gate when a work finds no slot"),
    },
    "starts.ts": {
      LEAST_STEPS: smaller(
        "workflow/limits",
        "a step that follows another alone has its own function",
      ),
    },
    "sweep.ts": {
      STALE_MS: larger("timeouts", "once none so short runs any more"),
    },
    "times.ts": {
      YEAR_MS: larger("retry", "no wait is longer than maxBackoffMs, or than a year"),
      LATE_MS: larger("waits", "fails though its timer was lost: the watchdog finds it"),
      CHECK_AGAIN_MS: larger("continuations", "when it has done so twice more, alone"),
    },
    "watch.ts": {
      FIRST_SEEN_MS: larger("numbers-slots", "it is seen to run after 5 s"),
      LONGEST_PAUSE_MS: smaller("recovery", "for 30 minutes takes at most 6 sweeps"),
      FIRST_SWEEP_MS: larger("recovery", "soon after another that was lost is seen 30 s after"),
      SHORTEST_PAUSE_MS: larger("recovery", "a mutation's is seen 10 s after its start"),
      GRACE_MS: larger("timeouts", "that has not reported 35 s after it is lost"),
      RESERVE_MS: larger("recovery", "is made up for by the one in reserve, a minute later"),
    },
    "limits/refuse.ts": {
      MOST_EMPTY: smaller("numbers", "behind 100 lines whose works have gone on"),
    },
    "queued.ts": {
      QUEUED_ARGS_BYTES: larger("numbers-queue", "arguments of 2 kB are stored apart"),
    },
  },
  "workpool/src/component": {
    "cancelAll.ts": {
      MOMENT_MS: larger("numbers-works", "reads works of this moment alone"),
      LATELY_MS: smaller("steered-busy", "nor while actions of 20 ms do"),
      READ_AT_ONCE: larger("numbers-works", "has few others canceled again"),
      LARGEST_PAGE: larger("cancel-all", "a page size that cannot be meant is refused"),
    },
    "delayed.ts": {
      TOGETHER_MS: larger("start", "none before its time, and none later than 50 ms"),
      TOGETHER_SHARE: larger("start", "works that are due within 50 ms"),
    },
    "reports.ts": {
      REPORT_EVERY_MS: larger("report", "comes once a minute while works end"),
      SHARDS: larger("numbers", "are counted in 8 documents"),
      NO_PROGRESS_MS: larger("report", "is warned of: works wait"),
      MOST_COUNTED: larger("views", "does not count without end"),
    },
    "views.ts": {
      LARGEST_PAGE: larger("views", "keep to the limits of a transaction"),
      OVERDUE_MS: larger("repair", "is seen to be stalled, and overdue"),
    },
    "work.ts": {
      INLINE_BYTES: larger("numbers-works", "the document of a work is small"),
      LARGEST_VALUE_BYTES: smaller("completion", "large arguments"),
      MOST_EXECUTED_BYTES: larger("executors", "of 300 KB has a function of its own"),
    },
  },
  "workflow/src/component": {
    "executor.ts": {
      MOST_MS: larger("executors", "a report that takes long leaves ends to the next"),
    },
    "bulk.ts": {
      REASONS: larger("numbers", "of the reasons why runs were refused, ten are told apart"),
      KEPT_MS: larger("numbers", "a bulk is kept for a month after its end"),
      PAGE: larger("bulk", "in pages of 50, though what it does lists the runs again"),
      RECENT: larger("bulk", "stops by itself when more than half of 100 runs are refused"),
      SMALLER: smaller("bulk", "until the first of them is refused"),
      MOST_FAILURES: larger("bulk", "until the first of them is refused"),
    },
    "views.ts": {
      MAX_TREE: smaller("numbers", "the tree of a run shows a hundred children"),
      MAX_TREE_STEPS: smaller("parents", "a run of more steps than a list may hold"),
    },
    "events.ts": {
      LOOK: larger("numbers", "looks at 50 events that are kept in one call"),
      MAX_KEPT_BYTES: larger("manager-events", "what is too large to be kept for all of them"),
    },
    "core/log.ts": {
      MAX_MESSAGE_LENGTH: larger("logging", "a message that is very long is cut"),
    },
    "core/poolHost.ts": {
      MOST_ARGS_BYTES: larger("executors", "an action with arguments of 20 kB has a function"),
    },
    "core/room.ts": {
      PAGE_BYTES: larger("numbers", "are read as far as a transaction can"),
      ROOM_BYTES: smaller("numbers", "are read as far as a transaction can"),
      MOST_COUNTED: larger("doing", "no more than 100 are counted and read for that"),
      MOST_KEPT: larger("manager-restart", "how a run was steered, and when: the newest 20 times"),
      ERRORS_BYTES: larger("steps", "the errors of many attempts fit"),
    },
    "core/childRuns.ts": {
      BYTES_BESIDE_INPUT: larger("numbers", "in a crowded pool, many children are inserted"),
      RUNS_AT_ONCE: smaller("numbers", "a pause reaches 30 children in one transaction"),
      MOST: smaller("numbers", "of some hundred children in each state"),
    },
    "core/input.ts": {
      BRIEF: larger("manager-views", "tells the beginning of the input of a run"),
    },
    "engine/starting.ts": {
      TOGETHER: smaller("numbers", "look once for free slots"),
    },
    "engine/begin.ts": {
      MAX_SCOPE_BYTES: larger("numbers", "a scope of 400 kB is no argument"),
      MAX_INPUT_IN_RUN_BYTES: larger("sizes", "is where reads of its run cost little"),
    },
    "engine/transition.ts": {
      MAX_RECORD_BYTES: larger("steps", "a large output after long errors fits"),
    },
    "core/scope.ts": {
      MAX_CHILD_BYTES: larger("parents", "outputs of a megabyte each"),
      MAX_GATHERED_BYTES: larger("parents", "beyond, the parent fails with tooLarge"),
    },
    "features/iterations.ts": {
      RECORDED_ITERATIONS: larger("guards", "take no more memory"),
    },
    "features/failing.ts": {
      MAX_CAUSES: larger("parents", "longer than a document may be nested"),
      RECOUNT_AFTER_MS: smaller("tolerance", "a second has one recount at most"),
      READ_AT_ONCE: smaller("tolerance", "a second has one recount at most"),
    },
    "features/ending.ts": {
      SMALL_PAGE: larger("numbers", "30 children are canceled in two"),
      MOST_ON_ENDS: larger("numbers", "12 children whose"),
    },
    "features/collecting.ts": {
      MOST_UNKEPT: larger("collect", "starts that a `keep` did not keep go in pages"),
    },
    "features/doing.ts": {
      BELOW: smaller("doing", "is where its children are"),
    },
    "features/retention.ts": {
      BATCH_MS: larger("manager-removal", "a shorter retention comes first"),
    },
    "features/children.ts": {
      MAX_AT_ONCE: larger("inserting-children", "of which a page comes again"),
      MAX_BYTES_AT_ONCE: smaller("numbers", "two children with inputs of 300 kB"),
      MIN_BYTES_PUT_OFF: larger("numbers", "in a crowded pool, many children are inserted"),
      MAX_PUT_OFF_MS: larger("numbers", "in a crowded pool, many children are inserted"),
    },
  },
  // Of what the compiler shares, only the numbers of the component.
  "workflow/src": {
    "rules.ts": {
      FEW_CHILDREN: smaller("cancel", "few children are canceled at once"),
      MOST_TAGS: larger("tags", "that gives a run its eleventh tag fails"),
    },
  },
};

const placed = Object.entries(TABLE).flatMap(([folder, files]) =>
  Object.entries(files).flatMap(([name, constants]) =>
    Object.entries(constants).map(([constant, how]) => ({ folder, name, constant, how })),
  ),
);

const numbersIn = (folder, file) =>
  [...readFileSync(join(packages, folder, file), "utf8").matchAll(NUMBER)].map(
    ([, constant, value]) => [`${folder}/${file}: ${constant}`, value],
  );

/** Each number that is in the sources: by its place, its text. */
const written = new Map([
  ...FOLDERS.flatMap((folder) =>
    readdirSync(join(packages, folder), { recursive: true })
      .filter((file) => file.endsWith(".ts") && !file.includes("_generated"))
      .flatMap((file) => numbersIn(folder, file)),
  ),
  ...numbersIn("workflow/src", "rules.ts").filter(([at]) =>
    placed.some(({ folder, name, constant }) => at === `${folder}/${name}: ${constant}`),
  ),
]);

/**
 * A test's file: of its own package, unless another is named. No load of the benchmarks: it reads
 * the sources from the disk, as they are.
 */
const testFile = (folder, file) => {
  const [at, name] = file.includes("/") ? file.split("/") : [folder.split("/")[0], file];
  return `packages/${at}/test/${name}.test.ts`;
};

/** As a list of mutants. */
export const CONSTANTS = placed.flatMap(({ folder, name, constant, how }) => {
  const at = `${folder}/${name}: ${constant}`;
  const value = written.get(at);
  if (value === undefined) return [];
  return {
    name: at,
    says: { "* 8": "is eight times as large", "/ 8": "is an eighth", "* 0": "is zero" }[how.by],
    file: `${folder}/${name}`,
    find: `const ${constant} = ${value};`,
    // A share stays one, and what is counted whole.
    replace: value.includes(".")
      ? `const ${constant} = (${value}) ${how.by};`
      : `const ${constant} = Math.ceil((${value}) ${how.by});`,
    test: [testFile(folder, how.file), how.test],
  };
});

/** Numbers without a row, rows without a number, and tests that are not there. */
export function* problemsOfConstants() {
  const listed = new Set(
    placed.map(({ folder, name, constant }) => `${folder}/${name}: ${constant}`),
  );
  for (const at of written.keys())
    if (!listed.has(at)) yield `no test is named for the number ${at}`;
  for (const at of listed) if (!written.has(at)) yield `the number ${at} is listed, and not there`;
  const textOf = (file) => readFileSync(join(packages, "..", file), "utf8");
  // A suite that two files play.
  const suite = textOf("packages/workpool/test/conformance-suite.ts");
  for (const { name, test } of CONSTANTS)
    if (![textOf(test[0]), suite].some((text) => text.includes(test[1])))
      yield `the test of ${name} is not there: "${test[1]}" in ${test[0]}`;
}
