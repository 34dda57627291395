/**
 * The guards that are marked in the sources, and the race that each decides. One that seeds reach
 * too seldom names the test that catches it.
 */
export const GUARDS = [
  // packages/workflow/src/component/README.md
  { guard: "token", says: "a report comes late, after its step has ended" },
  { guard: "attempt", says: "a report comes from an older attempt" },
  { guard: "stale", says: "a cancel while fused mutations run" },
  { guard: "slot-of-running", says: "a cancel while an action runs" },
  { guard: "not-begun", says: "a cancel before the action has begun" },
  { guard: "own-function", says: "a step, or a mutation of the pool, cancels its own run or work" },
  { guard: "closed-while-entered", says: "a cancel while an event arrives" },
  { guard: "compensating", says: "a cancel while the run compensates" },
  { guard: "running-sibling", says: "two children end at once, neither sees itself as the last" },
  { guard: "last-child", says: "a child ends while siblings still run" },
  { guard: "same-sibling", says: "two children end at once and start the same sibling" },
  { guard: "still-waiting", says: "the snapshot in which a child looks for siblings is old" },
  { guard: "inserting", says: "the last child ends while others are still to be inserted" },
  { guard: "joined", says: "a child ends after its parent has failed" },
  { guard: "settled-again", says: "the next function is gone, or its arguments are too large" },
  { guard: "has-reported", says: "an action is taken for lost, but reports after all" },
  { guard: "entered-once", says: "an event arrives as its timeout fires" },
  { guard: "paused", says: "a pause while steps are executed" },
  { guard: "page-of-pause", says: "a resume before all pages of the pause are done" },
  { guard: "page-of-restart", says: "a cancel or restart while a restart removes records" },
  // packages/workpool/src/component/README.md
  { guard: "gate-closes", says: "works begin to wait, and completions are to serve them" },
  { guard: "drain-begins", says: "an enqueue finds all slots taken as the last one is freed" },
  { guard: "drain-after-end", says: "an enqueue joins the queue as a completion finds it empty" },
  { guard: "drain-is-read", says: "a drain sees no free slot as a completion frees one" },
  { guard: "drain-generation", says: "a drain goes on when another has begun" },
  { guard: "gate-is-read", says: "an enqueue joins the queue as somebody opens the gate" },
  { guard: "watch-is-read", says: "the watchdog ends as a work starts from idle" },
  { guard: "suspect", says: "the watchdog meets the completion of a suspect" },
  { guard: "late-start", says: "the watchdog meets a delayed start that is just running" },
  { guard: "slot-is-free", says: "many enqueues want the same slot" },
  { guard: "preference", says: "many completions want the same work" },
  { guard: "work-attempt", says: "a completion or a delayed start comes twice" },
  { guard: "has-begun", says: "a cancel meets the start of a work" },
  { guard: "own-work", says: "a mutation cancels its own work" },
  { guard: "function-gone", says: "a queued work's function is gone" },
  { guard: "callback-room", says: "a callback uses up the transaction" },
  { guard: "newest-to-cancel", says: "cancelAll meets new works" },
  { guard: "completed-later", says: "an action's completion keeps losing conflicts" },
];

export const MUTANTS = [];
