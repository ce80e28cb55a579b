import type { ImageRemoval } from '../../../../schemas/command.ts';
import type { Decision, Verdict } from '../../../../schemas/decision.ts';
import type { Explanation } from '../../../../schemas/explanation.ts';
import type { CompleteInventory } from '../../../../schemas/inventory.ts';
import type { ObjectOutcome, ObjectResult } from '../../../../schemas/result.ts';
import type { TimelineEntry } from '../../../../schemas/timeline.ts';
import { type ExplainRequest, explain } from '../../../../services/audit/explain/explain.ts';
import { NO_VERDICTS } from '../../../../services/shared/decision/conclusion.ts';
import { partitionOf } from '../../../../services/shared/event-log/partition.ts';
import type { EventLog, LogRecord, ReadEvent } from '../../../../services/shared/event-log/port.ts';
import { nodeOutput, type Output } from '../../../../services/shared/handler.ts';
import { imageRemoval } from '../../../fixtures/command.ts';
import { inventory, NODE } from '../../../fixtures/inventory.ts';
import { decision } from '../../../fixtures/outputs.ts';
import { HOUR, instant, NOW, SECOND } from '../../../fixtures/time.ts';
import { onLog, outgoing } from '../../../support/log-record.ts';

/** An event, and when it was logged: so many seconds after `NOW`. */
export type Logged = readonly [seconds: number, output: Output, bytes?: Buffer];

/** The node's clock at that second. */
export const at = (seconds: number) =>
  instant({ wallTimeMs: NOW + seconds * SECOND, sinceBootMs: 24 * HOUR + seconds * SECOND });

/** A log in memory that has these events. */
export function recordedLog(events: readonly Logged[]): Pick<EventLog, 'read'> {
  const offsets = new Map<string, bigint>();
  const records = events.map(([seconds, output, bytes]): LogRecord => {
    const record = outgoing(output);
    const partition = partitionOf(record.topic, record.key);
    const place = `${record.topic}/${partition}`;
    const offset = offsets.get(place) ?? 0n;
    offsets.set(place, offset + 1n);
    const value = bytes ?? record.value;
    return onLog({ ...record, value }, { partition, offset, timestampMs: NOW + seconds * SECOND });
  });
  return {
    async *read({ topic, partition, from }): AsyncGenerator<ReadEvent, void> {
      const fromMs = typeof from === 'object' && 'timestampMs' in from ? from.timestampMs : 0;
      for (const record of records)
        if (record.topic === topic && record.partition === partition && record.timestampMs >= fromMs)
          yield { kind: 'record', record };
      yield { kind: 'caught-up' };
    },
  };
}

export const asking = (name: string, over: Partial<ExplainRequest> = {}): ExplainRequest => ({
  name,
  node: null,
  range: { fromMs: null, toMs: null },
  thereOnly: false,
  ...over,
});

export const explained = (events: readonly Logged[], request: ExplainRequest | string) =>
  explain(typeof request === 'string' ? asking(request) : request, {
    log: recordedLog(events),
    signal: new AbortController().signal,
    onProgress: () => undefined,
  });

/** A complete look; its id says when it was taken. */
export const look = (seconds: number, over: Partial<CompleteInventory> = {}): Logged => [
  seconds,
  nodeOutput('inventory', inventory({ id: `look-${seconds}`, takenAt: at(seconds), ...over })),
];

/** What image-gc says of the first image of that look. */
export const judged = (
  seconds: number,
  lookedAt: number,
  verdict: Partial<Verdict> & Pick<Verdict, 'rule'>,
  over: Partial<Decision> = {},
): Logged => {
  const input = { ...decision().input, id: `look-${lookedAt}`, offset: '0' };
  const images = [{ position: 0, action: 'keep', facts: {}, ...verdict } as const];
  const verdicts = { ...NO_VERDICTS, images };
  const id = `decision-on-${lookedAt}`;
  const base = { id, takenAt: at(lookedAt), outcome: 'nothing-to-do', input, verdicts } as const;
  return [seconds, nodeOutput('decisions', decision({ ...base, ...over }))];
};

/** A command to remove the image, counted with 10 bytes. */
export const ordered = (seconds: number, imageId: string, over: Partial<ImageRemoval> = {}): Logged => [
  seconds,
  nodeOutput(
    'commands',
    imageRemoval([], {
      takenAt: at(seconds),
      items: [{ kind: 'image', id: imageId, sizeBytes: 10, estimatedBytes: 10, rule: 'D11' }],
      ...over,
    }),
  ),
];

export const answered = (
  seconds: number,
  imageId: string,
  result: ObjectOutcome,
  over: Partial<ObjectResult> = {},
): Logged => [
  seconds,
  nodeOutput('results', {
    type: 'fleetgc.node.object-result',
    version: 1,
    id: `result-${seconds}`,
    ...NODE,
    at: at(seconds),
    commandId: 'command-1',
    decisionId: 'decision-1',
    inventoryId: 'inventory-1',
    journal: 'disk',
    object: { kind: 'image', id: imageId },
    rule: 'D11',
    result,
    ...over,
  }),
];

export const removed = (freedBytes: number): ObjectOutcome => ({
  outcome: 'removed',
  durationMs: 100,
  measured: { filesystem: 'imagefs', beforeBytes: '1000', afterBytes: String(1000 + freedBytes) },
});

/** A timeline in short: `<second> <what> <the most telling of it>`. */
export function told(explanation: Explanation): string[] {
  if (explanation.status !== 'explained') return [explanation.status];
  return explanation.timeline.map((entry) =>
    [(entry.loggedAtMs - NOW) / SECOND, entry.what, ...detailsOf(entry)].join(' '),
  );
}

function detailsOf(entry: TimelineEntry): readonly string[] {
  switch (entry.what) {
    case 'seen':
      return [entry.how];
    case 'changed':
      return Object.entries(entry.to).map(([name, value]) => `${name}=${value}`);
    case 'used':
      return entry.users.map(({ kind, name }) => `${kind}:${name}`);
    case 'verdict':
      return [entry.action, entry.rule, `x${entry.times}`];
    case 'undecided':
      return [entry.outcome, `x${entry.times}`];
    case 'result':
      return [entry.outcome];
    case 'decision':
      return [entry.decider, entry.outcome, `x${entry.times}`];
    default:
      return [];
  }
}
