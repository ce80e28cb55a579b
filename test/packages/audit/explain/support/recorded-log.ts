import { expect } from 'vitest';
import { explain } from '../../../../../packages/audit/explain/explain.ts';
import type { ExplainRequest } from '../../../../../packages/audit/explain/question.ts';
import { nodeOutput, type Output } from '../../../../../packages/decision/handler.ts';
import { partitionOf } from '../../../../../packages/log/partition.ts';
import type { LogRecord } from '../../../../../packages/log/port.ts';
import type { ImageRemoval } from '../../../../../schemas/events/command.ts';
import type { Decision, Verdict } from '../../../../../schemas/events/decision.ts';
import type { CompleteInventory } from '../../../../../schemas/events/inventory.ts';
import type { ObjectOutcome, ObjectResult } from '../../../../../schemas/events/result.ts';
import type { Explanation } from '../../../../../schemas/reports/explanation.ts';
import type { TimelineEntry } from '../../../../../schemas/reports/timeline.ts';
import { imageRemoval } from '../../../../fixtures/command.ts';
import { inventory, NODE } from '../../../../fixtures/inventory.ts';
import { decision } from '../../../../fixtures/outputs.ts';
import { HOUR, instant, NOW, SECOND } from '../../../../fixtures/time.ts';
import { onLog, outgoing } from '../../../../support/logs/log-record.ts';
import { logInMemory } from './log-in-memory.ts';
import { nameIndexOf } from './name-index.ts';

/** An event, and when it was logged: so many seconds after `NOW`. */
export type Logged = readonly [seconds: number, output: Output, bytes?: Buffer];

/** The node's clock at that second. */
export const at = (seconds: number) =>
  instant({ wallTimeMs: NOW + seconds * SECOND, sinceBootMs: 24 * HOUR + seconds * SECOND });

/** The events as they lie on the log. */
export function recordsOf(events: readonly Logged[]): LogRecord[] {
  const offsets = new Map<string, bigint>();
  return events.map(([seconds, output, bytes]): LogRecord => {
    const record = outgoing(output);
    const partition = partitionOf(record.topic, record.key);
    const place = `${record.topic}/${partition}`;
    const offset = offsets.get(place) ?? 0n;
    offsets.set(place, offset + 1n);
    const value = bytes ?? record.value;
    return onLog({ ...record, value }, { partition, offset, timestampMs: NOW + seconds * SECOND });
  });
}

export const asking = (name: string, over: Partial<ExplainRequest> = {}): ExplainRequest => ({
  name,
  node: null,
  range: { fromMs: null, toMs: null },
  thereOnly: false,
  ...over,
});

const needs = { signal: new AbortController().signal, onProgress: () => undefined };

/** What the log tells; an index of names must not change it, whether lives are read or lists are told. */
export async function explained(
  events: readonly Logged[],
  asked: ExplainRequest | string,
): Promise<Explanation> {
  const request = typeof asked === 'string' ? asking(asked) : asked;
  const records = recordsOf(events);
  const log = logInMemory(records);
  const explanation = await explain(request, { ...needs, log });
  for (const mostNodes of [0, 16]) {
    const index = nameIndexOf(records, FILE_ROWS);
    const indexed = await explain(request, { ...needs, log, index, mostNodes });
    expect(answerIn(indexed), `with an index, at most ${mostNodes} nodes`).toEqual(answerIn(explanation));
  }
  return explanation;
}

/** So few that histories span files. */
const FILE_ROWS = 2;

/** An index spares reading, and knows more names that are near. */
const answerIn = (explanation: Explanation) => ({
  ...explanation,
  reading: { ...explanation.reading, records: 0, ruledOut: 0, firstRecordMs: 0, lastRecordMs: 0 },
  knownOtherwise: false,
  nearNames: [],
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
  const verdicts: Verdict[] = [{ kind: 'image', position: 0, action: 'keep', facts: {}, ...verdict }];
  const id = `decision-on-${lookedAt}`;
  const base = {
    id,
    takenAt: at(lookedAt),
    outcome: 'nothing-to-do',
    input,
    verdicts,
  } satisfies Partial<Decision>;
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
  estimatedBytes: null,
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
