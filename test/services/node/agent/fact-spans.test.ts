import { expect, test } from 'vitest';
import { nextHop } from '../../../../packages/process/trace.ts';
import { FactSpans } from '../../../../services/node/agent/publish.ts';
import { diskStats } from '../../../fixtures/disk-stats.ts';
import { inventory } from '../../../fixtures/inventory.ts';
import { reclaim } from '../../../fixtures/reclaim.ts';
import { keptSpans } from '../../../support/kept-spans.ts';
import { countedIds, TRACEPARENT } from '../../../support/logs/log-record.ts';

const TAKEN_MS = 1_000_000;
const at = { takenAt: { wallTimeMs: TAKEN_MS, bootId: 'boot', sinceBootMs: 5 } };

function agent() {
  const clock = { nowMs: TAKEN_MS };
  const tracer = keptSpans();
  const now = () => ({ wallTimeMs: clock.nowMs, bootId: 'boot', sinceBootMs: 5 });
  return { clock, tracer, facts: new FactSpans(tracer, { now }) };
}

test('a sample has a span when an order follows from it, from when it was taken until the log had it', () => {
  const { clock, tracer, facts } = agent();
  const sent = facts.sample(diskStats({}, { ...at, id: 'over' }));
  facts.sample(diskStats({}, { ...at, id: 'later' }));
  clock.nowMs += 20;
  sent.onPublished();
  clock.nowMs += 500;
  expect(tracer.spans).toEqual([]);
  facts.ordered(nextHop(sent.trace, countedIds()));
  facts.ordered(nextHop(sent.trace, countedIds()));
  expect(tracer.spans).toMatchObject([
    {
      name: 'send gc.node.disk-stats',
      context: sent.trace,
      parent: null,
      startMs: TAKEN_MS,
      endMs: TAKEN_MS + 20,
      attributes: { 'messaging.message.id': 'over' },
    },
  ]);
});

test('an order whose trace none of our samples began tells of no sample', () => {
  const { tracer, facts } = agent();
  facts.sample(diskStats({}, { ...at, id: 'a' }));
  facts.ordered({ traceparent: TRACEPARENT });
  facts.ordered({ traceparent: 'hostile' });
  expect(tracer.spans).toEqual([]);
});

test('only the newest samples are remembered', () => {
  const { tracer, facts } = agent();
  const oldest = facts.sample(diskStats({}, { ...at, id: 'oldest' }));
  for (let i = 0; i < 64; i++) facts.sample(diskStats({}, { ...at, id: `s${i}` }));
  facts.ordered(oldest.trace);
  expect(tracer.spans).toEqual([]);
});

test('an answer is taken, and then sent; its message carries the span of the sending', () => {
  const { clock, tracer, facts } = agent();
  clock.nowMs += 30;
  const { trace, onPublished } = facts.answer(inventory({ ...at, reclaim: reclaim() }), {
    traceparent: TRACEPARENT,
  });
  clock.nowMs += 12;
  onPublished();
  const [taken, sent] = tracer.spans;
  expect(taken).toMatchObject({
    name: 'take inventory',
    parent: { traceparent: TRACEPARENT },
    startMs: TAKEN_MS,
    endMs: TAKEN_MS + 30,
  });
  expect(sent).toMatchObject({
    name: 'send gc.node.inventory',
    parent: taken?.context,
    context: trace,
    startMs: TAKEN_MS + 30,
    endMs: TAKEN_MS + 42,
  });
});
