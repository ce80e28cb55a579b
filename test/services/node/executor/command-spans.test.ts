import { expect, test } from 'vitest';
import type { CommandResult } from '../../../../schemas/events/result.ts';
import { CommandSpans } from '../../../../services/node/executor/metrics.ts';
import { imageRemoval } from '../../../fixtures/command.ts';
import { command } from '../../../fixtures/outputs.ts';
import { keptSpans } from '../../../support/kept-spans.ts';
import { TRACEPARENT } from '../../../support/logs/log-record.ts';

const BEGUN_MS = 1_000_000;
const instant = (wallTimeMs: number) => ({ wallTimeMs, bootId: 'boot', sinceBootMs: 5 });

function executor() {
  const clock = { nowMs: BEGUN_MS };
  const tracer = keptSpans();
  const spans = new CommandSpans(tracer, { now: () => instant(clock.nowMs) });
  const entry = {
    command: command({ id: 'command-1' }),
    trace: { traceparent: TRACEPARENT },
    signedBy: null,
    before: null,
    items: [],
  };
  return { clock, tracer, spans, entry };
}

const DONE: CommandResult['result'] = {
  outcome: 'done',
  ...{ removed: 1, notFound: 0, refused: 0, failed: 1, notNeeded: 0, notDone: 0 },
  measured: null,
  estimatedBytes: null,
  targetReached: false,
};

test('a command that is carried out has a span, and below it each object that was asked for', () => {
  const { clock, tracer, spans, entry } = executor();
  const { trace } = spans.begin(entry);
  const [image] = imageRemoval(['sha256:a']).items;
  if (image === undefined) throw new Error('a command has an item');
  const outcome = { outcome: 'removed', measured: null, estimatedBytes: null, durationMs: 40 } as const;
  spans.objectEnded(image, outcome, instant(BEGUN_MS + 100));
  clock.nowMs += 250;
  spans.commandEnded('command-1', DONE);
  expect(tracer.spans).toMatchObject([
    {
      name: 'remove image',
      parent: trace,
      startMs: BEGUN_MS + 60,
      endMs: BEGUN_MS + 100,
      attributes: { 'fleetgc.object.id': 'sha256:a', 'fleetgc.object.outcome': 'removed' },
      failure: null,
    },
    {
      name: 'carry out command',
      context: trace,
      parent: { traceparent: TRACEPARENT },
      startMs: BEGUN_MS,
      endMs: BEGUN_MS + 250,
      attributes: {
        'fleetgc.command.id': 'command-1',
        'fleetgc.command.outcome': 'done',
        'fleetgc.command.removed': 1,
        'fleetgc.command.target_reached': false,
      },
      failure: null,
    },
  ]);
});

test('a command that is refused says why, and one that is not in hand has no span', () => {
  const { tracer, spans, entry } = executor();
  spans.begin(entry);
  spans.commandEnded('another', DONE);
  expect(tracer.spans).toEqual([]);
  spans.commandEnded('command-1', { outcome: 'refused', reason: 'expired', message: 'too late' });
  spans.commandEnded('command-1', DONE);
  expect(tracer.spans.map(({ failure }) => failure)).toEqual(['expired']);
});
