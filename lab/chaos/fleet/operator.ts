import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import type { TopicName } from '../../../schemas/events/topics.ts';
import type { FleetKeys } from './keys.ts';
import type { PolicyId } from './policies.ts';
import type { UntilDone } from './until-done.ts';

/** Which nodes a pause stops: all, or the one of this name. */
export type Where = '*' | (string & {});

/** What people want to hold. */
export interface Setting<Policy extends string = PolicyId> {
  readonly policy: Policy | null;
  readonly paused: readonly Where[];
}

/** A change of it: it may have been in force from `startedMs` on, and is from `endedMs` on; `null`: nobody knows. */
export interface Act<Policy extends string = PolicyId> {
  readonly startedMs: number;
  endedMs: number | null;
  readonly setting: Setting<Policy>;
}

/** An operator, who tries again what does not succeed, one thing after the other. */
export interface Operator<Policy extends string = PolicyId> {
  readonly acts: readonly Act<Policy>[];
  apply(policy: Policy): Promise<void>;
  pause(where: Where): Promise<void>;
  resume(where: Where): Promise<void>;
  /** A deleted topic is made anew; what was lost with that of keys is published, and policies are written again. */
  restore(lost: TopicName): Promise<void>;
  /** Makes topics anew, as they are without a record. */
  createTopics(): Promise<void>;
  /** His key is revoked; so long after that he signs with another, also what counts no more. */
  replaceKey(revoking: Revoking): Promise<void>;
}

export interface Revoking {
  /** Nothing counts that the key has signed so far. */
  readonly isStolen: boolean;
  readonly forMs: number;
}

/** Longer than any round. */
const STOLEN_FOR_MS = 3_600_000;
const ToSign = z.object({ digest: z.string(), signed: z.array(z.unknown()) });

interface OperatorSettings<Policy> {
  readonly untilDone: UntilDone;
  /** As `policy apply` takes it. */
  readonly policyFile: (policy: Policy) => object;
  readonly keys: FleetKeys;
  readonly signal: AbortSignal;
}

export function createOperator<Policy extends string>({
  untilDone,
  policyFile,
  keys,
  signal,
}: OperatorSettings<Policy>): Operator<Policy> {
  const acts: Act<Policy>[] = [];
  let last: Promise<void> = Promise.resolve();
  const setting = (): Setting<Policy> => acts.at(-1)?.setting ?? { policy: null, paused: [] };
  const endedPauses = (): readonly Where[] => {
    const { paused } = setting();
    return [...new Set(acts.flatMap((one) => one.setting.paused))].filter((where) => !paused.includes(where));
  };
  /** Whether anything lies on the log that the key of now has signed. */
  let hasSigned = false;
  const inTurn = (task: () => Promise<void>): Promise<void> => {
    last = last.then(task);
    return last;
  };
  const changeTo = async (wanted: Setting<Policy>, change: () => Promise<void>): Promise<void> => {
    const begun: Act<Policy> = { startedMs: Date.now(), endedMs: null, setting: wanted };
    acts.push(begun);
    await change();
    if (!signal.aborted) begun.endedMs = Date.now();
  };
  const act = (next: () => Setting<Policy> | null, verbs: () => readonly Verb[]): Promise<void> =>
    inTurn(async () => {
      const wanted = next();
      if (wanted === null) return;
      await changeTo(wanted, async () => {
        for (const [args, stdin] of verbs()) {
          hasSigned = true;
          await untilDone(args, stdin);
        }
      });
    });
  const applying = (policy: Policy): Verb => [['policy', 'apply', '-'], JSON.stringify(policyFile(policy))];
  const createTopics = async (): Promise<void> => void (await untilDone(['topics', 'create']));
  const replaceKey = async ({ isStolen, forMs }: Revoking): Promise<void> => {
    const before = setting();
    const counts = !(isStolen && hasSigned);
    const revoke = (): Promise<void> =>
      keys.revoke(untilDone, keys.current('operator'), isStolen ? STOLEN_FOR_MS : 0);
    await (counts ? revoke() : changeTo({ ...before, policy: null }, revoke));
    await sleep(forMs, undefined, { signal }).catch(() => undefined);
    await keys.certify(untilDone, { key: keys.replace('operator'), role: 'operator' });
    hasSigned = !counts;
    if (!counts) await changeTo(before, () => signAgain(untilDone, signal));
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
    createTopics,
    restore: async (lost) => {
      // Beside the other acts: one of them may be waiting for the topic.
      await createTopics();
      if (lost === 'gc.keys') await keys.publishAll(untilDone);
      await act(setting, () => {
        const { policy, paused } = setting();
        return [...restoring(paused, endedPauses()), ...(policy === null ? [] : [applying(policy)])];
      });
    },
    replaceKey: (revoking) => inTurn(() => replaceKey(revoking)),
  };
}

/** All that counts no more, as it is. */
async function signAgain(untilDone: UntilDone, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    const printed = await untilDone(['policy', 'sign', '--dry-run', '-o', 'json']);
    if (printed === null) return;
    const { digest, signed } = ToSign.parse(JSON.parse(printed));
    if (signed.length === 0) return;
    await untilDone(['policy', 'sign', '--expect', digest]);
  }
}

type Verb = readonly [args: readonly string[], stdin: string];

/** `null`: somebody ended it before. */
const without = <Policy extends string>(setting: Setting<Policy>, where: Where): Setting<Policy> | null =>
  setting.paused.includes(where)
    ? { ...setting, paused: setting.paused.filter((one) => one !== where) }
    : null;

/** Who remembers a pause that went with its topic holds until he hears of its end, so it is begun and ended once more. */
const restoring = (paused: readonly Where[], ended: readonly Where[]): readonly Verb[] => [
  ...[...ended, ...paused].map((where): Verb => [['pause', ...selector(where)], '']),
  ...ended.map((where): Verb => [['resume', ...selector(where)], '']),
];

const selector = (where: Where): readonly string[] =>
  where === '*' ? ['--cluster', 'chaos'] : ['--node-name', where];
