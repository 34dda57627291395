import { isOf } from "../../packages/workflow/test/component.js";
import { canonical } from "./behaviour.js";
import { MEASURES } from "./measures.js";
import {
  BAD,
  definitionOf,
  Family,
  FINAL,
  isUndoing,
  keyOf,
  mostAttempts,
  nameOf,
  partsOf,
  sequenceOf,
  state,
} from "./records.js";
import type { Invariant, Rest, RunRow, StepRow } from "./rest.js";

/*
 * What holds of an app when all of its runs have come to rest, whatever was done to them: each with
 * the numbers of the promises it stands for, and a sentence.
 */

export const INVARIANTS: readonly Invariant[] = [
  {
    says: "every run has ended, in one of the final states, and nothing of how it came there is left in it",
    broken: ({ runs }) =>
      runs
        .filter(
          ({ state, endedAt, endsAs, paused }) =>
            !FINAL.includes(state) ||
            endedAt === undefined ||
            endsAs !== undefined ||
            paused !== undefined,
        )
        .map((run) => `${nameOf(run)} is ${state(run)}`),
  },
  {
    says: "the state of a run has an error where it is a bad one, and none where it is not",
    broken: ({ runs }) =>
      runs
        .filter(({ state, error }) => BAD.includes(state) !== (error !== undefined))
        .map((run) => `${nameOf(run)} is ${state(run)}`),
  },
  {
    says: "[S101] onComplete was called once for each generation, with the state that it ended in, and saw the run in it",
    broken: ({ runs, steered, completions, workflows, isEdited = false }) =>
      [...steered].flatMap(([id, { workflow, ends, refuses, isGone }]) => {
        const run = runs.find(({ _id }) => _id === id);
        // [S215] A start that is collected has none. It may have been one in another version only.
        const { collect } = definitionOf(workflows, workflow).options;
        if (isEdited ? run?.onComplete === undefined : collect !== undefined) return [];
        const told = completions.filter(({ runId }) => runId === id);
        // After the clock was put back, creation times say nothing about the order of calls.
        const all = (isGone ? ends : [...ends, run?.state]).toSorted().join();
        const is = told
          .map(({ state }) => state)
          .toSorted()
          .join();
        if (refuses) {
          const isKept = (isGone || run?.onCompleteError !== undefined) && told.length === 0;
          return isKept ? [] : [`${id}: its onComplete threw, and was kept ${told.length} times`];
        }
        const blind = told.filter(({ state, seen }) => state !== seen);
        return [
          ...(is === all ? [] : [`${id}: ended ${all}, told ${is}`]),
          ...blind.map(({ state, seen }) => `${id}: told ${state}, saw ${seen}`),
        ];
      }),
  },
  {
    says: "[S170] a run of a workflow with an onEnd has ended with it, once",
    broken: ({ runs, steps, workflows, isEdited = false }) =>
      runs.flatMap((run) => {
        const { generation = 1, onEnd } = run;
        const { options } = definitionOf(workflows, run.workflow);
        const all = steps.filter((step) => step.run === run._id && step.stage === "onEnd");
        // The new code may have none to take the place of the one that was before a restart.
        const ends = all.filter((step) => !isEdited || (step.generation ?? 1) === generation);
        const is = ends.map((step) => `${step.generation ?? 1} ${step.state}`).join();
        const isRefused = run.error?.node === "input";
        // [S207] It was canceled while it collected. A large input has a record of its own.
        const isInput = (step: StepRow) => step.run === run._id && step.stage === "input";
        const hasBegun = run.input !== undefined || steps.some(isInput);
        if (options.collect !== undefined && run.state === "canceled" && !hasBegun) return [];
        const isWhole = run.within === undefined && !(isRefused && onEnd === undefined);
        const isOfRun = isEdited ? onEnd === true : options.onEnd !== undefined;
        const has = isOfRun && isWhole;
        const how = run.onEndError === undefined ? "completed" : "failed";
        return is === (has ? `${generation} ${how}` : "")
          ? []
          : [`${nameOf(run)} has ended with "${is}"`];
      }),
  },
  {
    says: "[S102] a run has been restarted as often as it was",
    broken: ({ runs, steered }) =>
      runs
        .filter(({ _id, generation = 1, root }) => {
          const ends = steered.get(_id)?.ends.length ?? 0;
          return root === undefined && generation !== ends + 1;
        })
        .map((run) => `${nameOf(run)} is at generation ${run.generation}`),
  },
  {
    says: "[S42] [S85] nothing waits, is scheduled, or holds a slot",
    broken: ({ underWay, jobs, steps }) => [
      ...Object.entries(underWay)
        .filter(([, count]) => count > 0)
        .map(([table, count]) => `${count} rows in ${table}`),
      // The watchdog's one last look is nobody's.
      ...jobs
        .filter((job) => job.state.kind === "pending" && !isOf("watchdog:sweep")(job))
        .map(({ name }) => `${name} is scheduled`),
      ...steps
        .filter(({ endedAt }) => endedAt === undefined)
        .map((step) => `${keyOf(step)} is ${step.state}`),
    ],
  },
  {
    says: "nothing failed but what was made to, and nothing was done that a deployment refuses",
    broken: ({ jobs, violations, hasFaults }) => [
      ...violations,
      ...jobs
        .filter(({ state }) => state.kind === "failed" && !hasFaults)
        .map(({ name }) => `${name} failed`),
    ],
  },
  {
    says: "[S24] a mutation has taken effect exactly once for each record that says so, and never besides",
    broken: ({ log, steps }) => {
      const effects = new Map<string, number>();
      for (const { what, key } of log)
        if (what === "changes") effects.set(key, (effects.get(key) ?? 0) + 1);
      const recorded = steps.filter(
        // One that was made good by `recover` has written nothing.
        ({ kind, state, errors }) =>
          kind === "mutation" && state === "completed" && errors === undefined,
      );
      return [
        ...[...effects]
          .filter(([, count]) => count > 1)
          .map(([key, count]) => `${key} took effect ${count} times`),
        ...recorded
          .filter((step) => !effects.has(keyOf(step)))
          .map((step) => `${keyOf(step)} is completed, but took no effect`),
      ];
    },
  },
  {
    says: "[S25] what a mutation wrote stays only where its record says that it is completed",
    broken: ({ log, steps, runs }) => {
      const known = new Map(steps.map((step) => [keyOf(step), step]));
      const generations = new Map<string, number>(
        runs.map(({ _id, generation = 1 }) => [_id, generation]),
      );
      return log
        .filter(({ what, key }) => {
          const { run, generation, isInLoop } = partsOf(key);
          // Records of earlier generations are gone, and so may those be of iterations long ago.
          if (what !== "changes" || isInLoop || generations.get(run) !== generation) return false;
          return known.get(key)?.state !== "completed";
        })
        .map(({ key }) => `${key} took effect, and is ${known.get(key)?.state ?? "not recorded"}`);
    },
  },
  {
    says: "[S31] [S112] an action was begun at most once for each attempt, and at most maxAttempts times",
    broken: ({ log, runs, workflows }) => {
      const attempts = new Map<string, number[]>();
      const held = new Map<string, number>();
      for (const { what, key, attempt, holds } of log) {
        if (what === "begins") attempts.set(key, [...(attempts.get(key) ?? []), attempt]);
        // [S212] One that asks that a limit be held does not count.
        if (holds !== undefined) held.set(key, (held.get(key) ?? 0) + 1);
      }
      const names = new Map<string, string>(runs.map(({ _id, workflow }) => [_id, workflow]));
      return [...attempts].flatMap(([key, begun]) => {
        const { run, stage } = partsOf(key);
        const most = mostAttempts(workflows, names.get(run), stage) + (held.get(key) ?? 0);
        const isDouble = new Set(begun).size < begun.length;
        const isTooMany = begun.length > most || Math.max(...begun) > most;
        return isDouble || isTooMany ? [`${key} was begun for ${begun.join()} of ${most}`] : [];
      });
    },
  },
  {
    says: "[S61] [S63] nodes of the top level began each after the one before had ended, and none after one that has not ended well",
    broken: ({ runs, steps, workflows }) =>
      runs.flatMap((run) => {
        const { generation = 1 } = run;
        const { nodes, prefix } = sequenceOf(workflows, run);
        const own = steps
          .filter((step) => step.run === run._id && !isUndoing(step))
          .map((step) => ({ ...step, stage: step.stage.slice(prefix.length) }));
        const places = Object.keys(nodes).map((name) => {
          const records = own.filter(({ stage }) => stage.split(".")[0] === name);
          const isNew = records.every((record) => (record.generation ?? 1) === generation);
          const begunAt = Math.min(...records.map(({ startedAt }) => startedAt));
          const endedAt = Math.max(...records.map(({ endedAt: at }) => at ?? Infinity));
          const isDone = own.some(({ stage, state }) => stage === name && state === "completed");
          return { name, isThere: records.length > 0, isNew, begunAt, endedAt, isDone };
        });
        const broken: string[] = [];
        const notDone = places.findIndex(({ isDone }) => !isDone);
        // [S167]
        const isEnded = own.some(({ kind }) => kind === "end");
        if (run.state === "completed" && notDone !== -1 && !isEnded)
          broken.push(`${nameOf(run)} is completed without ${places[notDone]?.name}`);
        for (const [index, { name, isThere, isNew, begunAt }] of places.entries()) {
          // What a restart has kept is older than what it has done again.
          if (!isThere || !isNew) continue;
          if (notDone !== -1 && index > notDone)
            broken.push(`${nameOf(run)} was at ${name}, but not past ${places[notDone]?.name}`);
          for (const before of places.slice(0, index))
            if (before.isThere && before.endedAt > begunAt)
              broken.push(`${nameOf(run)}: ${name} began before ${before.name} had ended`);
        }
        return broken;
      }),
  },
  {
    says: "[S23] what a handler saw of earlier nodes is what is stored of them",
    broken: ({ log, runs, steps, workflows }) => {
      const byId = new Map<string, RunRow>(runs.map((run) => [run._id, run]));
      const outputs = new Map(
        steps.map(({ run, stage, output }) => [`${run} ${stage}`, canonical(output ?? null)]),
      );
      return log.flatMap(({ key, saw }) => {
        const { run: id, generation } = partsOf(key);
        const run = byId.get(id);
        if (run === undefined || (run.generation ?? 1) !== generation) return [];
        return Object.keys(definitionOf(workflows, run.workflow).nodes)
          .filter((name) => {
            const stored = outputs.get(`${id} ${name}`);
            return name in saw && stored !== undefined && saw[name] !== stored;
          })
          .map((name) => `${key} saw ${name} as ${saw[name]}`);
      });
    },
  },
  {
    says: "[S92] [S93] in a run that has failed, and under it, each completed step with a compensation was undone once, and in no other",
    broken: ({ runs, steps, undos }) => {
      const family = new Family({ runs, steps });
      const undoings = new Map<string, number>();
      for (const step of steps)
        if (isUndoing(step)) undoings.set(keyOf(step), (undoings.get(keyOf(step)) ?? 0) + 1);
      return [
        ...steps
          .filter(({ undoable, state }) => undoable === true && state === "completed")
          .flatMap((step) => {
            const is = undoings.get(keyOf({ ...step, stage: `${step.stage}.compensate` })) ?? 0;
            const wanted = family.undoerOf(step.run) === undefined ? 0 : 1;
            return is === wanted ? [] : [`${keyOf(step)} was undone ${is} times, not ${wanted}`];
          }),
        ...undos
          .filter(({ run }) => family.undoerOf(run) !== undefined)
          .map(({ run }) => `${run} has something that is still to be undone`),
      ];
    },
  },
  {
    says: "[S92] [S93] what was completed last was undone first",
    broken: ({ runs, steps }) => {
      const family = new Family({ runs, steps });
      const indices = new Map(steps.map((step, index) => [keyOf(step), index]));
      /** By the run that has failed, what was undone for it, in that order. */
      const undone = new Map<string, { step: StepRow; index: number }[]>();
      for (const undoing of steps.filter(isUndoing)) {
        const stage = undoing.stage.replace(/\.compensate$/, "");
        const index = indices.get(keyOf({ ...undoing, stage }));
        const undoer = family.undoerOf(undoing.run);
        if (index === undefined || undoer === undefined) continue;
        undone.set(undoer, [...(undone.get(undoer) ?? []), { step: steps[index]!, index }]);
      }
      return [...undone.values()].flatMap((all) =>
        all.flatMap(({ step, index }, nth) => {
          const before = all[nth - 1];
          if (before === undefined) return [];
          const isEarlier =
            before.step.run === step.run
              ? before.index < index
              : (before.step.endedAt ?? 0) < (step.endedAt ?? 0);
          return isEarlier ? [`${keyOf(before.step)} was undone before ${keyOf(step)}`] : [];
        }),
      );
    },
  },
  {
    says: "[S83] [S84] [S86] [S103] [S104] nothing began after a cancel but compensations and onEnd, nor between a pause and its resume, nor of a run that was removed",
    broken: ({ stills, log }) =>
      stills.flatMap(({ why, run: steered, generation: of, family, from, to }) =>
        log.slice(from, to).flatMap(({ what, key }) => {
          const { run, stage, generation } = partsOf(key);
          const isOf = family.has(run) && (run !== steered || generation === of);
          const isOfEnd = stage.endsWith(".compensate") || stage === "onEnd";
          const begins = what !== "ends" && !isOfEnd;
          return isOf && begins ? [`${key} ${what} while ${steered} is ${why}`] : [];
        }),
      ),
  },
  {
    says: "[S84] a run that was canceled is so, whatever came later",
    broken: ({ stills, runs }) =>
      stills.flatMap(({ why, run: id, generation }) => {
        const run = runs.find(({ _id }) => _id === id);
        const isSame = run !== undefined && (run.generation ?? 1) === generation;
        return why === "canceled" && isSame && run.state !== "canceled"
          ? [`${id} is ${run.state}`]
          : [];
      }),
  },
  {
    says: "[S69] [S75] an event that was not refused is in one place: a node's output, or the inbox",
    broken: ({ sent, runs, steps, inbox }) => {
      const family = new Family({ runs, steps });
      return sent.flatMap(({ run: id, generation, value, answer }) => {
        const run = runs.find(({ _id }) => _id === id);
        if (run === undefined || (run.generation ?? 1) !== generation) return [];
        const holds = (output: unknown) => JSON.stringify(output ?? null).includes(`"${value}"`);
        const taken = steps.filter(
          (step) => step.kind === "event" && family.takesOf(step.run, id) && holds(step.output),
        );
        const kept = inbox.filter((event) => event.run === id && event.value === value);
        const isThere = answer === "taken" ? taken.length === 1 : true;
        return isThere && taken.length + kept.length === 1
          ? []
          : [`${value} was ${answer}: ${taken.length} nodes have it, ${kept.length} wait`];
      });
    },
  },
  ...MEASURES,
];

/** What is broken of an app at rest, by sentence. */
export function brokenOf(rest: Rest): Record<string, string[]> {
  const found = INVARIANTS.map(({ says, broken }) => [says, broken(rest)] as const);
  return Object.fromEntries(found.filter(([, broken]) => broken.length > 0));
}
