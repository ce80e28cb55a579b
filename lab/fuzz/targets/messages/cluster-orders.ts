import { setImmediate } from 'node:timers/promises';
import type { LogRecord, OutgoingRecord } from '../../../../packages/log/port.ts';
import { decide } from '../../../../packages/records/decide.ts';
import { parseBelieved } from '../../../../packages/records/parse/parse-believed.ts';
import type { ParsedRecord } from '../../../../packages/records/parse/parse-record.ts';
import type { ClusterCommand, ClusterCommandItem } from '../../../../schemas/events/cluster-command.ts';
import { ClusterCommandIntent } from '../../../../schemas/events/cluster-intent.ts';
import { ClusterCommandResult, ClusterObjectResults } from '../../../../schemas/events/cluster-result.ts';
import { ClusterExecutor } from '../../../../services/cluster/executor/executor.ts';
import type { ResultEvent } from '../../../../services/cluster/executor/ports.ts';
import { NO_RESULTS } from '../../../../services/cluster/executor/recent-results.ts';
import { refuseRejected } from '../../../../services/cluster/executor/run.ts';
import {
  clusterCommand,
  clusterItem,
  clusterObject,
  clusterPolicyRecord,
} from '../../../../test/fixtures/cluster.ts';
import { IDENTITY } from '../../../../test/services/cluster/executor/support/executor.ts';
import {
  DATE_MS,
  FakeApi,
  type FakeReference,
  kindNamed,
} from '../../../../test/services/cluster/executor/support/fake-api.ts';
import { manualTime } from '../../../../test/support/manual-time.ts';
import { NO_METRICS, SILENT } from '../../../../test/support/silent.ts';
import { type Outcome, PASSED, REFUSED } from '../../engine/target.ts';
import { isToBeRefused, type Signatories } from './claims.ts';
import { readable, SILENT_PUBLISHER } from './deciding.ts';
import type { ReadMessage } from './topic-readers.ts';

const effect = (what: string): Outcome => ({ passed: true, effect: what });

const CONFIG_MAP = kindNamed('ConfigMap');
const ownedBy = (uid: string): readonly FakeReference[] => [
  { apiVersion: 'v1', kind: 'ConfigMap', name: uid, uid },
];

/** Objects of the cluster whose owner is gone, and may go. */
const FREE = ['free-1', 'free-2'];
/** Objects that stay, whatever a command says of them. */
const STAYING = ['owner', 'held', 'kept', 'without-owner', 'the-cluster'];

const POLICY = clusterPolicyRecord();
const { name, policyVersion: version, hash } = { ...POLICY, name: POLICY.policy.name };
/** More than the longest pause between two tries. */
const MOST_SECONDS = 2_000;
const TURNS_A_SECOND = 4;

/** A cluster with objects that may go and objects that may not, and what its executor does there with one message. */
class ExecutorCluster {
  readonly api: FakeApi;
  readonly results: ResultEvent[] = [];
  readonly executor: ClusterExecutor;
  readonly #time = manualTime(() => 0, { sinceBootMs: 0 });

  constructor() {
    const nowMs = (): number => this.#time.now().sinceBootMs;
    this.api = new FakeApi(nowMs);
    this.#fill();
    this.executor = new ClusterExecutor({
      identity: IDENTITY,
      executor: 'executor-1',
      connection: this.api.connection(),
      index: null,
      policy: () => ({ kind: 'policy', record: POLICY, approvals: [] }),
      localHold: () => null,
      objectionTo: () => null,
      recent: NO_RESULTS,
      publish: async (events) => void this.results.push(...events.map(({ event }) => event)),
      save: async () => undefined,
      sleep: this.#time.sleep,
      random: () => 0,
      nowMs,
      logger: SILENT,
      metrics: NO_METRICS,
      requestsPerSecond: 50,
    });
  }

  #fill(): void {
    const { api } = this;
    const made = { kind: CONFIG_MAP };
    for (const uid of FREE) api.put({ ...made, name: uid, ownerReferences: ownedBy('gone') });
    api.put({ ...made, name: 'owner' });
    api.put({ ...made, name: 'held', ownerReferences: ownedBy('owner') });
    api.put({ ...made, name: 'kept', ownerReferences: ownedBy('gone'), keep: true });
    api.put({ ...made, name: 'without-owner' });
    const { clock } = api.connection();
    clock.told({ dateMs: DATE_MS, sentAtMs: 0, receivedAtMs: 0 });
  }

  get isAnswered(): boolean {
    return this.results.some(({ type }) => type === 'fleetgc.cluster.command-result');
  }

  /** Until the command has its result. */
  async carryOut(): Promise<void> {
    const stopping = new AbortController();
    const running = this.executor.run(stopping.signal);
    for (let second = 0; second < MOST_SECONDS && !this.isAnswered; second += 1) await this.#pass();
    stopping.abort();
    let hasEnded = false;
    const ending = running.finally(() => {
      hasEnded = true;
    });
    for (let second = 0; second < MOST_SECONDS && !hasEnded; second += 1) await this.#pass();
    await ending;
    if (!this.isAnswered) throw new Error('a command that was taken has no result');
  }

  async #pass(): Promise<void> {
    for (let turn = 0; turn < TURNS_A_SECOND; turn += 1) await setImmediate();
    await this.#time.pass(1_000);
  }
}

/** Commands about what may go, and about what may not. */
export function clusterCommandsOfNow(): readonly ClusterCommand[] {
  const { api } = new ExecutorCluster();
  const item = (uid: string): ClusterCommandItem => {
    const resourceVersion = api.byUid(uid)?.resourceVersion ?? '';
    return clusterItem({ object: clusterObject({ name: uid, uid, resourceVersion }) });
  };
  const ordered = (items: readonly ClusterCommandItem[]): ClusterCommand =>
    clusterCommand({
      ...IDENTITY,
      takenAt: { serverMs: DATE_MS, spreadMs: 1_000 },
      policy: { name, version, hash, setHash: hash },
      items: [...items],
    });
  return [
    ordered(FREE.map(item)),
    ...STAYING.map((uid) => ordered([item(uid)])),
    ordered([
      {
        ...item('held'),
        act: { action: 'drop-references', ownerUids: ['owner'] },
      },
    ]),
    ordered([{ ...item('free-1'), act: { action: 'finish', finalizer: 'orphan' } }]),
  ];
}

/** From the record to the deletions, in a cluster whose policy lets everything go whose owner is gone. */
export const clusterExecutorReader = ({ trust }: Signatories): ReadMessage => {
  const parse = parseBelieved(trust);
  return async ({ record, claim }) => {
    const cluster = new ExecutorCluster();
    const parsed = parse('clusterCommands', record);
    const { isTaken, answers } = await received(cluster, record, parsed);
    if (isTaken && isToBeRefused(claim, 'clusterCommands'))
      return effect(`a command that is ${claim} is taken`);
    if (isTaken) await cluster.carryOut();
    return judged(cluster, { record, parsed, answers });
  };
};

/** The uids of what is written to the API server when this command is carried out. */
export async function writtenBy(record: LogRecord, { trust }: Signatories): Promise<readonly string[]> {
  const cluster = new ExecutorCluster();
  const { isTaken } = await received(cluster, record, parseBelieved(trust)('clusterCommands', record));
  if (isTaken) await cluster.carryOut();
  return cluster.api.writes.map(({ before: { uid } }) => uid);
}

async function received(
  { executor }: ExecutorCluster,
  record: LogRecord,
  parsed: ParsedRecord<ClusterCommand>,
): Promise<{ readonly isTaken: boolean; readonly answers: readonly OutgoingRecord[] }> {
  let isTaken = false;
  const handling = {
    handlers: {
      clusterCommands: (input: Parameters<typeof executor.commands>[0]) => {
        isTaken = input.event.cluster === IDENTITY.cluster;
        return executor.commands(input);
      },
    },
    onRejection: refuseRejected(IDENTITY, () => executor.at()),
    publisher: SILENT_PUBLISHER,
  };
  const { failure, stages } = await decide('clusterCommands', { kind: 'read', record, parsed }, handling);
  if (failure?.error !== undefined) throw failure.error.cause ?? failure.error;
  return { isTaken, answers: stages.flat() };
}

interface Answered {
  readonly record: LogRecord;
  readonly parsed: ParsedRecord<ClusterCommand>;
  readonly answers: readonly OutgoingRecord[];
}

/** What was written has to be named by the command, and free to go; what is told has to be readable. */
function judged({ api, results }: ExecutorCluster, { parsed, answers }: Answered): Outcome {
  const named = new Set(parsed.ok ? parsed.event.items.map(({ object }) => object.uid) : []);
  const wrong = api.writes.find(({ before: { uid } }) => !named.has(uid) || !FREE.includes(uid));
  if (wrong !== undefined)
    return effect(`${wrong.before.uid} was changed, which no command names or which is to stay`);
  const unreadable = readable(answers) ?? results.map(whyUnreadable).find((why) => why !== null) ?? null;
  if (unreadable !== null) return effect(unreadable);
  return parsed.ok ? PASSED : REFUSED;
}

const SCHEMAS = {
  'fleetgc.cluster.command-intent': ClusterCommandIntent,
  'fleetgc.cluster.object-results': ClusterObjectResults,
  'fleetgc.cluster.command-result': ClusterCommandResult,
} as const;

function whyUnreadable(event: ResultEvent): string | null {
  const { error } = SCHEMAS[event.type].safeParse(event);
  return error === undefined ? null : `published what nobody can read: ${error.message}`;
}
