import { pino } from 'pino';
import { onTestFinished } from 'vitest';
import { contentHash } from '../../../../../packages/canonical/ids.ts';
import { createMetrics } from '../../../../../packages/process/metrics.ts';
import type { ClusterCommand, ClusterCommandItem } from '../../../../../schemas/events/cluster-command.ts';
import { ClusterCommandIntent } from '../../../../../schemas/events/cluster-intent.ts';
import { ClusterRemoved } from '../../../../../schemas/events/cluster-removed.ts';
import { ClusterCommandResult, ClusterObjectResults } from '../../../../../schemas/events/cluster-result.ts';
import type { ApprovalRecord } from '../../../../../schemas/policy/approval.ts';
import type { ClusterPolicy } from '../../../../../schemas/policy/cluster-policy.ts';
import {
  ClusterExecutor,
  type ClusterExecutorDeps,
} from '../../../../../services/cluster/executor/executor.ts';
import { NO_RESULTS } from '../../../../../services/cluster/executor/recent-results.ts';
import { clusterPolicy, clusterPolicyRecord } from '../../../../fixtures/cluster.ts';
import { manualTime } from '../../../../support/manual-time.ts';
import { nextLook } from '../../../../support/next-look.ts';
import { DATE_MS, FakeApi, type StoredObject } from './fake-api.ts';

export const IDENTITY = { cluster: 'c1', clusterInstance: 'the-cluster' };

/** What came of commands. */
export type ClusterAnswer = ClusterObjectResults | ClusterCommandResult;

/** To delete an object in the state in which it is. */
export const itemFor = (
  { kind, namespace, name, uid, resourceVersion }: StoredObject,
  act: ClusterCommandItem['act'] = { action: 'delete', propagation: 'Background', unblock: false },
): ClusterCommandItem => ({
  object: { ...kind, namespace, name, uid, resourceVersion },
  rule: ruleOf(act),
  act,
});

/** By which an order says that it is to be done. */
function ruleOf(act: ClusterCommandItem['act']): string {
  if (act.action !== 'finish') return 'D14';
  return act.finalizer === 'orphan' ? 'E3' : 'D17';
}

let commands = 0;

export interface Harness {
  readonly api: FakeApi;
  readonly results: ClusterAnswer[];
  /** What was announced before anything was done. */
  readonly intents: ClusterCommandIntent[];
  /** What was saved before it was deleted. */
  readonly saved: ClusterRemoved[];
  policy: ClusterPolicy;
  approvals: readonly ApprovalRecord[];
  readonly executor: ClusterExecutor;
  readonly time: ReturnType<typeof manualTime>;
  readonly order: (items: readonly ClusterCommandItem[], over?: Partial<ClusterCommand>) => ClusterCommand;
  /** Gives a command to the executor. */
  readonly give: (command: ClusterCommand) => void;
  /** Lets time pass until the command has its result; gives back what came of its objects, in words. */
  readonly done: (command: ClusterCommand) => Promise<readonly string[]>;
  /** Both. */
  readonly carryOut: (
    items: readonly ClusterCommandItem[],
    over?: Partial<ClusterCommand>,
  ) => Promise<readonly string[]>;
  readonly pass: (seconds: number) => Promise<void>;
  readonly stop: () => Promise<void>;
}

/** An executor of a fake API server, running. */
export function harness(
  over: Partial<ClusterExecutorDeps> = {},
  prepare?: (api: FakeApi) => void,
  time = manualTime(() => 0),
): Harness {
  const nowMs = (): number => time.now().sinceBootMs;
  const api = new FakeApi(nowMs);
  prepare?.(api);
  const results: ClusterAnswer[] = [];
  const intents: ClusterCommandIntent[] = [];
  const saved: ClusterRemoved[] = [];
  const stop = new AbortController();
  const state: { policy: ClusterPolicy; approvals: readonly ApprovalRecord[] } = {
    policy: clusterPolicy(),
    approvals: [],
  };
  const executor = new ClusterExecutor({
    identity: IDENTITY,
    executor: 'executor-1',
    connection: api.connection(),
    index: null,
    policy: () => ({ kind: 'policy', record: clusterPolicyRecord(state.policy), approvals: state.approvals }),
    localHold: () => null,
    objectionTo: () => null,
    recent: NO_RESULTS,
    publish: async (events) => {
      for (const { event } of events)
        if (event.type === 'fleetgc.cluster.command-intent') intents.push(ClusterCommandIntent.parse(event));
        else results.push(checked(event));
    },
    save: async (removed) => void saved.push(ClusterRemoved.parse(removed)),
    sleep: time.sleep,
    random: () => 0,
    nowMs,
    logger: pino({ level: 'silent' }),
    metrics: createMetrics(),
    requestsPerSecond: 50,
    ...over,
  });
  const ended = executor.run(stop.signal);
  const end = async (): Promise<void> => {
    stop.abort();
    let hasEnded = false;
    const ending = ended.finally(() => {
      hasEnded = true;
    });
    for (let look = 0; !hasEnded && look < 100; look++) {
      await time.pass(100, 100);
      await nextLook(look % 20);
    }
    await ending;
  };
  onTestFinished(end);
  const pass = async (seconds: number): Promise<void> => {
    for (let second = 0; second < seconds; second++) {
      await time.pass(1_000);
      for (let look = 0; look < 8; look++) await nextLook(look);
    }
  };
  const order: Harness['order'] = (items, command = {}) => ({
    type: 'fleetgc.cluster.command',
    version: 1,
    id: `command-${++commands}`,
    ...IDENTITY,
    decisionId: 'decision-1',
    factId: 'fact-1',
    takenAt: { serverMs: DATE_MS + Math.floor(nowMs()), spreadMs: 1_000 },
    lifetimeMs: 600_000,
    policy: {
      name: state.policy.name,
      version: 1,
      hash: contentHash(state.policy),
      setHash: contentHash([]),
    },
    items: [...items],
    ...command,
  });
  const give: Harness['give'] = (event) =>
    void executor.commands({ event, position: { topic: 't', partition: 0, offset: '0', sha256: '' } });
  const done: Harness['done'] = async ({ id }) => {
    const isDone = (): boolean =>
      results.some((event) => event.type === 'fleetgc.cluster.command-result' && event.commandId === id);
    for (let second = 0; !isDone(); second++) {
      if (second > 700) throw new Error(`no result of ${id}`);
      await pass(1);
    }
    return wordsOf(results, id);
  };
  return {
    api,
    results,
    intents,
    saved,
    executor,
    time,
    order,
    give,
    done,
    pass,
    stop: end,
    carryOut: async (items, command) => {
      const ordered = order(items, command);
      give(ordered);
      return done(ordered);
    },
    get policy() {
      return state.policy;
    },
    set policy(policy) {
      state.policy = policy;
    },
    get approvals() {
      return state.approvals;
    },
    set approvals(approvals) {
      state.approvals = approvals;
    },
  };
}

/** As it can be read again. */
const checked = (event: ClusterAnswer): ClusterAnswer =>
  event.type === 'fleetgc.cluster.object-results'
    ? ClusterObjectResults.parse(event)
    : ClusterCommandResult.parse(event);

/** `removed`, `refused owner-there`, and of a command that was refused as a whole `command refused expired`. */
export const wordsOf = (results: readonly ClusterAnswer[], commandId: string): readonly string[] =>
  results
    .filter((event) => event.commandId === commandId)
    .flatMap((event) => {
      if (event.type === 'fleetgc.cluster.object-results')
        return event.objects.map(({ result }) => outcomeWords(result));
      return event.result.outcome === 'refused' ? [`command ${outcomeWords(event.result)}`] : [];
    });

const outcomeWords = (result: { readonly outcome: string; readonly reason?: string }): string =>
  'reason' in result ? `${result.outcome} ${result.reason}` : result.outcome;
