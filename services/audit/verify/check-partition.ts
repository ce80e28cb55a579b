import { canonicalJson, sha256Hex } from '../../../packages/canonical/ids.ts';
import type { LogRecord } from '../../../packages/event-log/port.ts';
import {
  type ParsedRecord,
  parseJson,
  parseRecord,
  parseValueOf,
  type Rejection,
} from '../../../packages/pipeline/parse/parse-record.ts';
import { NODE_TOPICS, type RecordedEvent } from '../../../packages/pipeline/read-log.ts';
import { type EventOf, TOPICS, type TopicId } from '../../../schemas/events/topics.ts';
import { placeOf } from '../events/log-position.ts';
import { onDecisions, type RecordedDecision, readOnDecisions } from '../events/recorded-decision.ts';
import { ComparedRepetitions } from '../events/repetitions.ts';
import { createCommands } from './commands/answered-commands.ts';
import { SETTLED_MS } from './coverage.ts';
import { type DecidingAgain, decideAgain } from './decisions/decide-again.ts';
import { createDecidedOutputs, type Effect } from './decisions/decided-outputs.ts';
import { createEarlierDecisions, decidedBy, mayHaveOutputs } from './decisions/outputs-of-decisions.ts';
import { createUndecided } from './decisions/undecided-messages.ts';
import { createAnsweredOrders } from './reclaims/answered-orders.ts';
import { createReclaims, type OfReclaim } from './reclaims/executed-reclaims.ts';
import { createOffsets, tellDoubledMember } from './record-checks.ts';
import { createVanished } from './removed-by-others.ts';

const JUDGE_EVERY_MS = 60_000;

/** A record that was read: its event, and what its bytes say as JSON. */
interface Read<Id extends TopicId> {
  readonly event: EventOf<Id>;
  readonly value: unknown;
  readonly record: LogRecord;
}

export interface PartitionCheck {
  /** A command, order or decision from before the range: what follows from it may lie in it. */
  readonly takeEarlier: (event: RecordedEvent) => void;
  readonly take: (event: RecordedEvent) => Promise<void>;
  /** Nothing more comes. Returns whether there are answers to commands that are older than those earlier ones. */
  readonly finish: () => boolean;
  /** Any command from before the range, for such answers. */
  readonly takeForLate: (event: RecordedEvent) => void;
  /** What is alone now stays so. */
  readonly end: () => void;
}

/** Verifies one partition, record by record, in memory that does not grow with its length. */
export function createPartitionCheck(parts: DecidingAgain): PartitionCheck {
  const { findings, coverage, kept, beganAfter, inputs } = parts;
  const { counts } = findings;
  const commands = createCommands(findings, { coverage, kept, beganAfter });
  const reclaims = createReclaims();
  const outputs = createDecidedOutputs({ findings, coverage, beganAfter, executed: reclaims.executed });
  const answeredOrders = createAnsweredOrders(findings, { coverage, beganAfter });
  const earlierDecisions = createEarlierDecisions(parts);
  const undecided = createUndecided(findings);
  const vanished = createVanished(findings);
  const offsets = createOffsets(findings);
  const seen = new ComparedRepetitions();
  let lastMs = 0;
  let judgedMs = 0;

  const reject = (topicId: TopicId, record: LogRecord, rejection: Rejection): void => {
    const found = { node: record.key, places: [placeOf(record)] };
    const refused = `no consumer of ${TOPICS[topicId].name} takes it: ${rejection.message}`;
    if (rejection.cause === 'unknown-version')
      findings.gap({ kind: 'unknown-version', message: rejection.message, ...found });
    else findings.deviation({ kind: 'unreadable', message: refused, ...found });
    if (topicId === 'decisions' && rejection.cause === 'unknown-version') answeredOrders.unreadDecision();
    if (topicId === 'commands') namesOfUnreadable(record, rejection).forEach(commands.unreadable);
  };

  /** Whether it is there for the first time. */
  const isNew = (event: { readonly id: string }, record: LogRecord, content: string): boolean => {
    const sighting = seen.sighting(`${record.topic} ${event.id}`, record, content);
    if (sighting.kind === 'same') counts.duplicates++;
    if (sighting.kind === 'other')
      findings.deviation({
        kind: 'id-reused',
        message: `two records have the id ${event.id} and different contents`,
        node: record.key,
        places: [placeOf(record), sighting.before],
      });
    return sighting.kind === 'first';
  };

  const takeEffect = async (effect: Effect): Promise<boolean> => {
    if (!isNew(effect.event, effect.record, canonicalJson(effect.value))) return false;
    for (const decided of await earlierDecisions.giving(effect.event.id)) outputs.decided(decided);
    outputs.sent(effect);
    return true;
  };

  const takeDecision = async (decision: RecordedDecision): Promise<void> => {
    const { head, record } = decision;
    outputs.recorded(head, record);
    undecided.decided(head);
    if (seen.sighting(`${record.topic} ${head.id}`, record).kind === 'same') {
      counts.duplicates++;
      return;
    }
    counts.decisions++;
    if (head.outcome === 'ordered') answeredOrders.decided(decision.value, record);
    for (const decided of decidedBy(decision, await decideAgain(decision, parts), inputs))
      outputs.decided(decided);
  };

  const takeAnswer = (
    event: Exclude<EventOf<'results'>, OfReclaim>,
    value: unknown,
    record: LogRecord,
  ): void => {
    if (!isNew(event, record, steadyContent(event, value))) return;
    counts.results++;
    commands.answered(event, record);
    if (event.type !== 'fleetgc.node.object-result') return;
    if (event.result.outcome === 'removed') counts.removals++;
    vanished.answered(event, record);
  };

  /** What its bytes say as JSON; where that is none, it was told. */
  const jsonOf = (topicId: TopicId, record: LogRecord): ParsedRecord<unknown> => {
    const json = parseJson(record.topic, record.value);
    if (json.ok) tellDoubledMember(findings, record, json.event);
    else reject(topicId, record, json.rejection);
    return json;
  };

  /** The event on its topic, with what its bytes say, or nothing: that it is none was told. */
  const read = <Id extends TopicId>(topicId: Id, record: LogRecord): Read<Id> | null => {
    const json = jsonOf(topicId, record);
    if (!json.ok) return null;
    const parsed = parseValueOf(topicId, json.event, record);
    if (parsed.ok) return { event: parsed.event, value: json.event, record };
    reject(topicId, record, parsed.rejection);
    return null;
  };

  const takers: Record<(typeof NODE_TOPICS)[number], (record: LogRecord) => void | Promise<void>> = {
    diskStats: (record) => {
      counts.diskStats++;
      inputs.keep(record);
      undecided.arrived(record);
      const message = inputs.messageOf(record);
      if (message.ok) tellDoubledMember(findings, record, message.event);
    },
    inventory: (record) => {
      counts.inventories++;
      commands.heard(record);
      inputs.keep(record);
      undecided.arrived(record);
      const message = inputs.messageOf(record);
      if (!message.ok) return;
      tellDoubledMember(findings, record, message.event);
      vanished.listed(message.event, record);
      answeredOrders.listed(message.event, record);
    },
    observe: async (record) => {
      const order = read('observe', record);
      if (order === null || !(await takeEffect(order))) return;
      counts.orders++;
      answeredOrders.ordered(order.event, record);
    },
    decisions: async (record) => {
      const json = jsonOf('decisions', record);
      if (!json.ok) return;
      const { event: value } = json;
      const found = onDecisions(record, value);
      if (found.kind === 'decision') await takeDecision(found.decision);
      else if (found.kind === 'rejected') reject('decisions', record, found.rejection);
      else await takeEffect({ event: found.event, value, record });
    },
    commands: async (record) => {
      const command = read('commands', record);
      if (command === null || !(await takeEffect(command))) return;
      counts.commands++;
      commands.commanded(command.event, record);
      reclaims.commanded(command.event, record);
    },
    results: async (record) => {
      const result = read('results', record);
      if (result === null) return;
      const { event, value } = result;
      switch (event.type) {
        case 'fleetgc.node.reclaim-continues':
          inputs.keep(record);
          undecided.arrived(record);
          await takeEffect({ event, value, record });
          break;
        case 'fleetgc.node.pressure-unrelieved':
          await takeEffect({ event, value, record });
          break;
        default:
          takeAnswer(event, value, record);
      }
    },
    deadLetters: (record) => {
      const letter = read('deadLetters', record)?.event;
      if (letter?.type === 'fleetgc.dead-letter') undecided.givenUp(letter);
    },
  };

  const takeEarlierCommand = (record: LogRecord): void => {
    const parsed = parseRecord('commands', record);
    if (parsed.ok) {
      commands.commandedBefore(parsed.event, record);
      reclaims.commanded(parsed.event, record);
    } else namesOfUnreadable(record, parsed.rejection).forEach(commands.unreadable);
  };

  const takeEarlierOrder = (record: LogRecord): void => {
    const parsed = parseRecord('observe', record);
    if (parsed.ok) answeredOrders.ordered(parsed.event, record);
  };

  const takeEarlierDecision = (record: LogRecord): void => {
    if (!mayHaveOutputs(record)) return;
    const found = readOnDecisions(record);
    if (found.kind !== 'decision') return;
    earlierDecisions.decided(found.decision);
    answeredOrders.decided(found.decision.value, record);
  };

  const judge = (beforeMs: number, atEnd: boolean): void => {
    judgedMs = lastMs;
    outputs.judge({ beforeMs, atEnd });
    commands.judge({ beforeMs, atEnd }, lastMs);
    undecided.judge({ beforeMs, atEnd });
    answeredOrders.judge({ beforeMs, atEnd });
    vanished.judge({ beforeMs, atEnd });
  };

  return {
    takeEarlier: ({ topicId, record }) => {
      if (topicId === 'observe') takeEarlierOrder(record);
      else if (topicId === 'decisions') takeEarlierDecision(record);
      else takeEarlierCommand(record);
    },
    take: async ({ topicId, record }) => {
      counts.records++;
      counts.bytes += record.value?.length ?? 0;
      lastMs = Math.max(lastMs, record.timestampMs);
      offsets.follow(record);
      if (isVerified(topicId)) await takers[topicId](record);
      if (lastMs - judgedMs >= JUDGE_EVERY_MS) judge(lastMs - SETTLED_MS, false);
    },
    finish: () => {
      judge(Number.POSITIVE_INFINITY, true);
      return commands.late.areThere();
    },
    takeForLate: ({ record }) => {
      const parsed = parseRecord('commands', record);
      if (parsed.ok) commands.late.commanded(parsed.event, record);
      else namesOfUnreadable(record, parsed.rejection).forEach(commands.late.unreadable);
    },
    end: commands.late.end,
  };
}

const isVerified = (topicId: TopicId): topicId is (typeof NODE_TOPICS)[number] =>
  NODE_TOPICS.some((verified) => verified === topicId);

/**
 * What must not change between two records of one result; who refuses a command again says when. The order of members may: what
 * an executor finds in its journal after a kill has that of the schema.
 */
function steadyContent(event: EventOf<'results'>, value: unknown): string {
  const isRefusal = event.type === 'fleetgc.node.command-result' && event.result.outcome === 'refused';
  return canonicalJson(isRefusal ? [event.commandId, event.result] : value);
}

/** How executors name what is no command in their answer. */
function namesOfUnreadable(record: LogRecord, { value }: Rejection): readonly string[] {
  const id = typeof value === 'object' && value !== null && 'id' in value ? value.id : undefined;
  const nameless = `unreadable-${sha256Hex(record.value ?? '').slice(0, 32)}`;
  return typeof id === 'string' ? [id, nameless] : [nameless];
}
