/**
 * The numbers of the pool and of the workflow component, each with the test that fails if it is
 * eight times as large or as small. `npm run mutations -- --list constants` tries them; its --check
 * says which number stands in no table.
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

/** The test that seems to tell it, which has not been tried. */
const untried = { larger, smaller };

/** By package and file, how a number is changed, and the test that then fails. */
const TABLE = {
  "workpool/src/core": {
    "carrier.ts": {
      MOST_CARRIED: smaller("carriers", "two places run twelve works at once"),
      FIRST_TAKE_MS: larger("carriers", "two places run twelve works at once"),
    },
    "drain-queue.ts": {
      QUIET_ROUNDS: untried.larger("gate", "and opens when nothing waits any more"),
    },
    "drain.ts": {
      PAUSE_MS: larger("gate", "and opens when nothing waits any more"),
      LATE_MS: larger("carriers", "two places run twelve works at once"),
    },
    "executors.ts": {
      MOST_IN_VAIN: larger("executors", "long works among short ones cost no call each 50 ms"),
    },
    "fair.ts": {
      MOST_WEIGHT: larger("fairness", "is refused"),
      KEYS_SEEN: smaller("fairness", "a slot goes to the key that holds the fewest"),
    },
    "gate.ts": {
      MAX_PARALLELISM_LIMIT: larger("start", "an enqueue that cannot be meant is refused"),
      FEWEST_PLACES: larger("gate", "is 6 on the smallest class"),
      LEFT_TO_THE_APP: larger("gate", "is 6 on the smallest class"),
      MOST_BY_DEFAULT: larger("gate", "until something sets it"),
      LATE_BEGIN_MS: smaller("carriers", "a lone short work costs one execution more"),
    },
    "limits/buckets.ts": {
      CONTENDED_MS: larger("budgets", "the end books the difference, either way"),
    },
    "limits/limits.ts": {
      LONGEST_KEY: larger("limits", "a limit is refused"),
      MOST_WAITING: larger("refused", "is refused if it is no whole number from 0 to 1,000"),
      MOST_IN_GATE: larger("numbers", "the gate holds 100 limits, and no more"),
      MOST_OF_A_WORK: smaller("limits", "a work takes all that it needs, or nothing"),
    },
    "limits/rate.ts": {
      ROUND_MS: larger("rates-deployed", "enqueues at a rate of"),
      NEARLY_MS: smaller("numbers", "what a rate gives back is whole"),
    },
    "limits/seen.ts": {
      MOST_READ: larger("numbers", "100 are counted for a limit, and 1,000 for all"),
      MOST_OF_ALL: larger("numbers", "100 are counted for a limit, and 1,000 for all"),
    },
    "limits/waits-for.ts": {
      MOST_COUNTED: untried.larger("numbers", "as many as 200 are counted that come before one"),
    },
    "log.ts": {
      MOST_LOGGED_AT_ONCE: larger("events", "of a large batch the first 100 are logged"),
    },
    "owners.ts": {
      WIDTH: smaller("executors", "no other waits beside a free slot"),
      ASKS_EVERY_MS: larger("executors", "goes on to its end, and is not tried again"),
    },
    "report.ts": {
      FIRST_PAUSE_MS: larger("numbers", "that is refused once is repeated within a second"),
      REPEATS_MS: smaller("throttled", "is scheduled at the end of the action's time"),
      LONGEST_PAUSE_MS: larger("throttled", "is scheduled at the end of the action's time"),
    },
    "rest.ts": {
      REST_EVERY_MS: smaller("rest", "does so once a minute"),
    },
    "result.ts": {
      MAX_CAUSES: larger("workflow/texts", "up to five of them"),
    },
    "queue.ts": {
      LARGE_POOL: smaller("conformance", "at once, no more and no fewer while others wait"),
    },
    "room.ts": {
      MIB: smaller("on-complete", "does not keep the work from ending"),
      READS_OF_REFUSED: smaller("saturation", "is enough for all that it may read of the queue"),
    },
    "slots.ts": {
      MAX_HAND_OVERS: larger("conformance", "has a chain hand its slot on to itself at most"),
      MAX_HELD_MS: larger("hand-over", "for at most 2 s of hand-overs"),
      ENQUEUE_MS: larger("cost", "a delayed start or a retry: 1 more"),
      SLOTS_PER_ENQUEUE: smaller("conformance", "closes its gate when a work finds no slot"),
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
      FIRST_SWEEP_MS: larger("recovery", "soon after another that was lost is seen 30 s after"),
      SHORTEST_PAUSE_MS: larger("recovery", "a mutation's is seen 10 s after its start"),
      GRACE_MS: larger("timeouts", "that has not reported 5 s after it is lost"),
      RESERVE_MS: larger("recovery", "is made up for by the one in reserve, a minute later"),
      MOMENT_MS: smaller("carriers", "the timeout of a carried work counts from its own begin"),
    },
  },
  "workpool/src/component": {
    "cancelAll.ts": {
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
      LARGEST_VALUE_BYTES: smaller("completion", "large arguments"),
      MOST_EXECUTED_BYTES: larger("executors", "of 300 KB has a function of its own"),
    },
  },
  "workflow/src/component": {
    "bulk.ts": {
      PAGE: untried.larger("bulk", "in pages of 50, though what it does lists the runs again"),
      RECENT: untried.larger("bulk", "stops by itself when more than half of 100 runs are refused"),
      SMALLER: untried.smaller("bulk", "until the first of them is refused"),
      MOST_FAILURES: untried.larger("bulk", "until the first of them is refused"),
    },
    "views.ts": {
      MAX_TREE_STEPS: untried.smaller("parents", "a run of more steps than a list may hold"),
    },
    "core/log.ts": {
      MAX_MESSAGE_LENGTH: untried.larger("logging", "a message that is very long is cut"),
    },
    "core/room.ts": {
      MOST_COUNTED: larger("doing", "no more than 100 are counted and read for that"),
      MOST_KEPT: larger("manager-restart", "how a run was steered, and when: the newest 20 times"),
      ERRORS_BYTES: larger("steps", "the errors of many attempts fit"),
    },
    "core/childRuns.ts": {
      RUNS_AT_ONCE: untried.larger(
        "guards",
        "of more children than one page, those that run are canceled",
      ),
      FEW: untried.larger("cancel", "few children are canceled at once"),
      MOST: untried.larger("manager-views", "of 1,500 children it reads a bounded number"),
    },
    "core/tags.ts": {
      MOST_TAGS: untried.larger("tags", "tags cost a row each"),
    },
    "core/input.ts": {
      BRIEF: untried.larger("manager-views", "tells the beginning of the input of a run"),
    },
    "engine/begin.ts": {
      MAX_SCOPE_BYTES: untried.larger("large", "a large state is not sent along with every step"),
      MAX_INPUT_IN_RUN_BYTES: untried.larger(
        "manager-restart",
        "a large input takes the place of a small one",
      ),
    },
    "engine/transition.ts": {
      MAX_RECORD_BYTES: untried.larger("steps", "a large output after long errors fits"),
      MAX_RETRIES: untried.larger("steps", "the errors of many attempts fit"),
    },
    "events.ts": {
      MAX_KEPT_BYTES: untried.larger(
        "manager-events",
        "what is too large to be kept for all of them",
      ),
      LOOK: untried.larger("matches", "of ever so many that wait"),
    },
    "core/scope.ts": {
      MAX_CHILD_BYTES: untried.smaller("parents", "outputs of a megabyte each"),
      DOCUMENTS_AFTER: untried.larger("parents", "thousands of children, whose runs take much"),
      MAX_CHILDREN_IN_ARGUMENT: untried.larger("large", "all outputs, in order, none missing"),
      MAX_OUTPUT_IN_RUN_BYTES: untried.larger("parents", "outputs of a megabyte each"),
      MAX_GATHERED_BYTES: untried.larger("parents", "beyond, the parent fails with tooLarge"),
    },
    "features/iterations.ts": {
      RECORDED_ITERATIONS: untried.larger("guards", "take no more memory"),
    },
    "features/failing.ts": {
      READ_AT_ONCE: untried.larger(
        "tolerance",
        "those that fail together, where a stale snapshot lacks",
      ),
      MAX_CAUSES: untried.larger("parents", "longer than a document may be nested"),
      RECOUNT_AFTER_MS: untried.smaller("tolerance", "a second has one recount at most"),
    },
    "features/ending.ts": {
      SMALL_PAGE: untried.larger("cancel", "few children are canceled at once"),
      MOST_ON_ENDS: untried.larger(
        "on-end",
        "runs for each of many children that are canceled in pages",
      ),
    },
    "features/doing.ts": {
      CHILDREN: untried.larger("doing", "is where its children are"),
      BELOW: untried.larger("doing", "is where its children are"),
    },
    "features/collecting.ts": {
      MOST_UNKEPT: untried.larger("collect-deployed", "lets what is collected begin"),
    },
    "features/retention.ts": {
      BATCH_MS: untried.larger("manager-removal", "a shorter retention comes first"),
    },
    "features/children.ts": {
      MIN_BYTES_PUT_OFF: untried.larger(
        "adversarial-nodes",
        "children with inputs as large as they may",
      ),
      MAX_AT_ONCE: untried.larger(
        "concurrency",
        "they are started in pages, whatever their number",
      ),
      MAX_BYTES_AT_ONCE: untried.larger(
        "adversarial-nodes",
        "children with inputs as large as they may",
      ),
    },
  },
};

/**
 * Numbers that no small test tells yet: what they are for shows in a load only (benchmarks/load.md),
 * or a test of it takes long. None may be added: give a new number a test, or derive it.
 */
const UNTOLD = {
  "workflow/src/component/core/poolHost.ts": ["MOST_ARGS_BYTES"],
  "workflow/src/component/executor.ts": ["MOST_MS"],
  "workflow/src/component/core/room.ts": ["PAGE_BYTES", "ROOM_BYTES"],
  "workpool/src/component/work.ts": ["INLINE_BYTES"],
  "workpool/src/component/cancelAll.ts": ["READ_AT_ONCE", "MOMENT_MS"],
  "workpool/src/core/watch.ts": ["LONGEST_PAUSE_MS", "FIRST_SEEN_MS"],
  "workpool/src/core/room.ts": ["MOST_TRIED", "PAGE"],
  "workpool/src/core/carrier.ts": ["TAKES_MS", "LAST_TAKE_MS"],
  "workpool/src/core/executors.ts": ["OTHERS_MS"],
  "workpool/src/core/fair.ts": ["LANES_OF_KEY", "POOL_LANES_PER_LANE", "SLOTS_READ"],
  "workpool/src/core/gate.ts": ["CLOSED_AT_LEAST_MS"],
  "workpool/src/core/limits/refuse.ts": ["MOST_EMPTY"],
  "workpool/src/core/limits/wake.ts": ["AT_ENDS"],
  "workpool/src/core/owners.ts": ["WIDTH_ON_FEW", "EXECUTORS_ON_FEW", "TAKES_MS"],
  "workpool/src/core/queue.ts": ["FEW_PER_LANE", "TURN_MS", "LOOK"],
  "workpool/src/core/queued.ts": ["QUEUED_ARGS_BYTES"],
  "workpool/src/core/report.ts": ["LATER_MS"],
  "workpool/src/core/slots.ts": ["SLOTS_TO_KNOW", "BETWEEN_ENDS_MS"],
  "workflow/src/component/bulk.ts": ["REASONS", "KEPT_MS"],
  "workflow/src/component/views.ts": ["MAX_TREE"],
  "workflow/src/component/features/children.ts": ["BYTES_BESIDE_INPUT", "MAX_PUT_OFF_MS"],
  "workflow/src/component/features/concurrency.ts": ["CANDIDATES", "PICKS", "MAX_RUNNING_READ"],
};

const placed = Object.entries(TABLE).flatMap(([folder, files]) =>
  Object.entries(files).flatMap(([name, constants]) =>
    Object.entries(constants).map(([constant, how]) => ({ folder, name, constant, how })),
  ),
);

/** Each number that is in the sources: by its place, its text. */
const written = new Map(
  FOLDERS.flatMap((folder) =>
    readdirSync(join(packages, folder), { recursive: true })
      .filter((file) => file.endsWith(".ts") && !file.includes("_generated"))
      .flatMap((file) =>
        [...readFileSync(join(packages, folder, file), "utf8").matchAll(NUMBER)].map(
          ([, constant, value]) => [`${folder}/${file}: ${constant}`, value],
        ),
      ),
  ),
);

/** A test's file: of its own package, unless another is named. */
const testFile = (folder, file) =>
  file.includes("/")
    ? `packages/${file.replace("/", "/test/")}.test.ts`
    : `packages/${folder.split("/")[0]}/test/${file}.test.ts`;

/** As a list of mutants. */
export const CONSTANTS = placed.flatMap(({ folder, name, constant, how }) => {
  const at = `${folder}/${name}: ${constant}`;
  const value = written.get(at);
  if (value === undefined) return [];
  return {
    name: at,
    says: how.by === "* 8" ? "is eight times as large" : "is an eighth",
    file: `${folder}/${name}`,
    find: `const ${constant} = ${value};`,
    replace: `const ${constant} = Math.ceil((${value}) ${how.by});`,
    test: [testFile(folder, how.file), how.test],
  };
});

/** Numbers without a row, rows without a number, and tests that are not there. */
export function* problemsOfConstants() {
  const listed = new Set([
    ...placed.map(({ folder, name, constant }) => `${folder}/${name}: ${constant}`),
    ...Object.entries(UNTOLD).flatMap(([file, names]) => names.map((name) => `${file}: ${name}`)),
  ]);
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
