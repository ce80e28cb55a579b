import { imageUsage } from '../../../../../packages/cri/usage.ts';
import type { Sleep } from '../../../../../packages/process/backoff.ts';
import { createLogger } from '../../../../../packages/process/logger.ts';
import type { Command } from '../../../../../schemas/events/command.ts';
import type { ObjectOutcome } from '../../../../../schemas/events/result.ts';
import type { EventOf } from '../../../../../schemas/events/topics.ts';
import { NO_DISK_HISTORY } from '../../../../../services/node/agent/disks.ts';
import { type BackoffTable, openBackoff } from '../../../../../services/node/executor/backoff.ts';
import type { Restrictions } from '../../../../../services/node/executor/checks.ts';
import { type Collaborators, Executor } from '../../../../../services/node/executor/executor.ts';
import type { FactsReading, ReadFacts, RuntimeFacts } from '../../../../../services/node/executor/facts.ts';
import {
  accepted,
  type ItemProgress,
  type Journal,
  type JournalEntry,
  openJournal,
} from '../../../../../services/node/executor/journal.ts';
import { Judge } from '../../../../../services/node/executor/judge.ts';
import { NO_LOCAL_RULES } from '../../../../../services/node/executor/local-rules.ts';
import { Gauge } from '../../../../../services/node/executor/measure.ts';
import { Planner, type TakeInventory } from '../../../../../services/node/executor/own-plan.ts';
import { openDirectory } from '../../../../../services/node/executor/pod-logs.ts';
import { Remover } from '../../../../../services/node/executor/remove.ts';
import { NODE } from '../../../../fixtures/inventory.ts';
import { completeListing } from '../../../../fixtures/listing.ts';
import { logLines } from '../../../../support/log-lines.ts';
import { type ManualClock, manualClock } from '../../../../support/manual-clock.ts';
import { AGREEING_POLICY, agreeingInventory } from './agreeing-inventory.ts';
import { type FakeRuntime, fakeRuntime } from './fake-runtime.ts';
import { type MemoryState, memoryState } from './memory-state.ts';

/** What removes on a node, in memory and without an executor around it. Nothing waits: time passes with sleeps alone. */
export interface RemovalNode {
  readonly runtime: FakeRuntime;
  readonly clock: ManualClock;
  readonly state: MemoryState;
  readonly journal: Journal;
  readonly backoff: BackoffTable;
  readonly planner: Planner;
  readonly readFacts: ReadFacts;
  readonly executor: Executor;
  /** The same node, where some of those that the executor works with are others. */
  executorWith(over: Partial<Collaborators>): Executor;
  readonly podLogsDir: string;
  readonly containerLogsDir: string;
  /**
   * What was done, in order: calls as `FakeRuntime` names them, `look` at the runtime's facts, `plan` for an inventory,
   * `sleep <ms>`, and `wrote …` with how far the journal says that each object of its first command is.
   */
  readonly steps: string[];
  /** Called at each step, before it has an effect; may throw. */
  at: (step: string) => void;
  /** Where they differ from those of a node on which everything may go. */
  restrictions: Partial<Restrictions>;
  takeInventory: TakeInventory;
  /** Why the runtime's facts cannot be had. */
  factsProblem: string | null;
  readonly logLines: readonly string[];
  /** Of each removal that was counted. */
  readonly removalSeconds: (readonly [kind: string, seconds: number])[];
}

/** `directory` has the two directories of logs, where there are any. */
export function removalNode(directory = '/nowhere'): RemovalNode {
  const [runtime, clock, state, lines] = [fakeRuntime(), manualClock(), memoryState(), logLines()];
  const podLogs = {
    podLogsDir: `${directory}/pods`,
    containerLogsDir: `${directory}/containers`,
    openDirectory,
  };
  const logger = createLogger({ service: 'test', level: 'info' }, lines);
  const journal = openJournal({ directory: state, now: clock.now(), logger });
  const backoff = openBackoff(state, logger);
  const removalSeconds: RemovalNode['removalSeconds'] = [];
  const metrics: Collaborators['metrics'] = {
    objects: UNCOUNTED,
    commands: UNCOUNTED,
    stayed: UNCOUNTED,
    images: UNCOUNTED,
    commandSeconds: { observe: () => undefined },
    wantedBytes: UNCOUNTED,
    unrelieved: UNCOUNTED,
    freedBytes: UNCOUNTED,
    unmeasured: UNCOUNTED,
    removalSeconds: { observe: ({ kind }, seconds) => void removalSeconds.push([kind, seconds]) },
  };
  const step = (name: string): void => {
    node.steps.push(name);
    node.at(name);
  };
  runtime.before = step;
  state.afterWrite = (name) => {
    if (name === 'journal') step(`wrote ${progressIn(journal)}`);
  };
  const restrictions = async (): Promise<Restrictions> => ({
    policy: { kind: 'enforced', record: AGREEING_POLICY },
    distrustOf: () => null,
    local: NO_LOCAL_RULES,
    backoff: backoff.entries(),
    lastActions: journal.state().lastActions,
    removalRate: journal.state().removalRate,
    ...node.restrictions,
  });
  const readFacts = async (): Promise<FactsReading> => {
    const confirmedAt = clock.now();
    step('look');
    if (node.factsProblem !== null) return { ok: false, message: node.factsProblem };
    return { ok: true, facts: factsOf(runtime), confirmedAt };
  };
  const sleep: Sleep = async (ms, signal) => {
    if (signal?.aborted) return;
    step(`sleep ${ms}`);
    clock.advance(ms);
  };
  const own = {
    takeInventory: async (...asked: Parameters<TakeInventory>) => {
      step('plan');
      return node.takeInventory(...asked);
    },
    diskHistory: () => NO_DISK_HISTORY,
    lastActions: () => [],
  };
  const planner = new Planner(own, restrictions, clock);
  const collaborators: Collaborators = {
    journal,
    clock,
    sleep,
    reporter: () => ({ identity: NODE, at: clock.now(), journal: journal.kept() }),
    restrictions,
    planner,
    judge: new Judge({ clock, readFacts, podsNow: async () => [], restrictions, podLogs }),
    remover: new Remover(runtime, podLogs, readFacts, sleep),
    gauge: new Gauge(runtime, clock, sleep),
    backoff,
    removedImages: { note: () => undefined },
    lateRemovals: { expect: () => undefined, seen: () => undefined, watch: async () => undefined },
    metrics,
    spans: null,
    logger,
  };
  const node: RemovalNode = {
    runtime,
    clock,
    state,
    journal,
    backoff,
    planner,
    readFacts,
    executor: new Executor(collaborators),
    executorWith: (over) => new Executor({ ...collaborators, ...over }),
    ...podLogs,
    steps: [],
    at: () => undefined,
    restrictions: {},
    takeInventory: async (reclaim) =>
      agreeingInventory({ ...podLogs, ...listedBy(runtime) }, clock.now(), reclaim),
    factsProblem: null,
    logLines: lines.lines,
    removalSeconds,
  };
  return node;
}

const UNCOUNTED = { add: () => undefined };

const listedBy = ({ images, containers, sandboxes }: FakeRuntime) => ({
  images: [...images.values()],
  containers: [...containers.values()],
  sandboxes: [...sandboxes.values()],
});

/** All images are known for long, and never in use. */
function factsOf(runtime: FakeRuntime): RuntimeFacts {
  const listing = completeListing(listedBy(runtime));
  const at = manualClock().now();
  const images: [string, number, null][] = listing.images.map(({ id }) => [id, 0, null]);
  const file = { version: 1, at, watchedSinceMs: 0, clockSteadySince: at, images } as const;
  return { listing, usage: imageUsage(listing, []), history: { kind: 'known', file } };
}

function progressIn(journal: Journal): string {
  const [entry] = journal.state().entries;
  return entry === undefined ? 'the end' : entry.items.map(wordFor).join(', ');
}

const wordFor = (progress: ItemProgress): string =>
  progress.state === 'done' ? progress.outcome : progress.state;

/** The command as the journal has it, where an earlier process came so far. */
export function accept(
  { journal, steps }: RemovalNode,
  command: Command,
  over: Partial<JournalEntry> = {},
): JournalEntry {
  const items = command.items.map((): ItemProgress => ({ state: 'waiting' }));
  const entry: JournalEntry = { command, trace: null, signedBy: null, before: null, items, ...over };
  journal.update((state) => accepted(state, entry));
  steps.length = 0;
  return entry;
}

/** All that is to be published. */
export const told = ({ journal }: RemovalNode): readonly EventOf<'results'>[] =>
  journal.state().unpublished.map(({ output }) => output.event);

/** What became of each object, by its id. */
export const outcomes = (node: RemovalNode): Readonly<Record<string, ObjectOutcome>> =>
  Object.fromEntries(
    told(node).flatMap((event) =>
      event.type === 'fleetgc.node.object-result' ? [[event.object.id, event.result] as const] : [],
    ),
  );
