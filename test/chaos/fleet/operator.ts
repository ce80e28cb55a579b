import { setTimeout as sleep } from 'node:timers/promises';
import { type PolicyId, policyFile } from './policies.ts';
import type { RunVerb } from './verb.ts';

/** Which nodes a pause stops: all, or the one of this name. */
export type Where = '*' | (string & {});

/** What people want to hold. */
export interface Setting {
  readonly policy: PolicyId | null;
  readonly paused: readonly Where[];
}

/** A change of it: it may have been in force from `startedMs` on, and is from `endedMs` on; `null`: nobody knows. */
export interface Act {
  readonly startedMs: number;
  endedMs: number | null;
  readonly setting: Setting;
}

/** An operator, who tries again what does not succeed, one thing after the other. */
export interface Operator {
  readonly acts: readonly Act[];
  apply(policy: PolicyId): Promise<void>;
  pause(where: Where): Promise<void>;
  resume(where: Where): Promise<void>;
  /** Deleted topics are made anew, and what was lost with that of policies is written again. */
  restore(): Promise<void>;
}

const AGAIN_MS = 500;

export function createOperator(run: RunVerb, signal: AbortSignal): Operator {
  const acts: Act[] = [];
  let last: Promise<void> = Promise.resolve();
  const setting = (): Setting => acts.at(-1)?.setting ?? { policy: null, paused: [] };
  const endedPauses = (): readonly Where[] => {
    const { paused } = setting();
    return [...new Set(acts.flatMap((one) => one.setting.paused))].filter((where) => !paused.includes(where));
  };
  const untilDone = async (args: readonly string[], stdin: string): Promise<void> => {
    while (!signal.aborted) {
      const { exitCode } = await run(args, stdin);
      if (exitCode === 0) return;
      await sleep(AGAIN_MS);
    }
  };
  const act = (next: () => Setting | null, verbs: () => readonly Verb[]): Promise<void> => {
    last = last.then(async () => {
      const wanted = next();
      if (wanted === null) return;
      const begun: Act = { startedMs: Date.now(), endedMs: null, setting: wanted };
      acts.push(begun);
      for (const [args, stdin] of verbs()) await untilDone(args, stdin);
      if (!signal.aborted) begun.endedMs = Date.now();
    });
    return last;
  };
  return {
    acts,
    apply: (policy) =>
      act(
        () => ({ ...setting(), policy }),
        () => [applying(policy)],
      ),
    pause: (where) =>
      act(
        () => ({ ...setting(), paused: [...setting().paused, where] }),
        () => [[['pause', ...selector(where)], '']],
      ),
    resume: (where) =>
      act(
        () => without(setting(), where),
        () => [[['resume', ...selector(where)], '']],
      ),
    restore: async () => {
      // Beside the other acts: one of them may be waiting for the topic.
      await untilDone(['topics', 'create'], '');
      await act(setting, () => restoring(setting(), endedPauses()));
    },
  };
}

type Verb = readonly [args: readonly string[], stdin: string];

/** `null`: somebody ended it before. */
const without = (setting: Setting, where: Where): Setting | null =>
  setting.paused.includes(where)
    ? { ...setting, paused: setting.paused.filter((one) => one !== where) }
    : null;

const applying = (policy: PolicyId): Verb => [['policy', 'apply', '-'], JSON.stringify(policyFile(policy))];

/** Who remembers a pause that went with its topic holds until he hears of its end, so it is begun and ended once more. */
const restoring = ({ policy, paused }: Setting, ended: readonly Where[]): readonly Verb[] => [
  ...[...ended, ...paused].map((where): Verb => [['pause', ...selector(where)], '']),
  ...ended.map((where): Verb => [['resume', ...selector(where)], '']),
  ...(policy === null ? [] : [applying(policy)]),
];

const selector = (where: Where): readonly string[] =>
  where === '*' ? ['--cluster', 'chaos'] : ['--node-name', where];
