import { describe, expect, test } from 'vitest';
import { type Handler, nodeOutput } from '../../../packages/decision/handler.ts';
import { FleetGcError } from '../../../packages/process/errors.ts';
import { createPublisher } from '../../../packages/records/publisher.ts';
import { UNSIGNED } from '../../../packages/records/trust/signer.ts';
import type { DiskStats } from '../../../schemas/events/disk-stats.ts';
import { inventory } from '../../fixtures/inventory.ts';
import { observe } from '../../fixtures/observe.ts';
import { command, decision } from '../../fixtures/outputs.ts';
import { reclaim } from '../../fixtures/reclaim.ts';
import { keptSpans } from '../../support/kept-spans.ts';
import { countedIds, NOW_MS, recordOf, TRACEPARENT } from '../../support/logs/log-record.ts';
import { ScriptedLog } from '../../support/logs/scripted-log.ts';
import { consumer, decide, garbage, message } from './consumer-under-test.ts';

/** A consumer on a log of its own whose spans are kept. */
async function traced(handle: Handler<DiskStats> = decide) {
  const tracer = keptSpans();
  const publishing = new ScriptedLog();
  const now = () => NOW_MS;
  const publisher = createPublisher({
    ...{ signer: UNSIGNED, log: publishing, source: '/fleetgc/test', now, ids: countedIds() },
    tracer,
  });
  const { log } = await consumer(
    {
      publisher,
      handlers: {
        diskStats: handle,
        observe: () => [],
        inventory: () => [[nodeOutput('decisions', decision({ outcome: 'nothing-to-do' }))]],
        commands: () => [],
      },
    },
    handle,
  );
  return { deliver: log.deliver.bind(log), spans: tracer.spans, published: publishing.published };
}

describe('a message has a span', () => {
  test('where an order follows from it, with the ids that the order carries', async () => {
    const { deliver, spans, published } = await traced();
    await deliver([message('a', {}, { partition: 7, offset: 41n })]);
    expect(spans).toEqual([
      {
        name: 'process gc.node.disk-stats',
        kind: 'consumer',
        context: { traceparent: published.flat().at(-1)?.headers.traceparent },
        parent: { traceparent: TRACEPARENT },
        links: [],
        startMs: NOW_MS,
        endMs: NOW_MS,
        attributes: {
          'messaging.operation.name': 'process',
          'messaging.operation.type': 'process',
          'messaging.consumer.group.name': 'g',
          'messaging.destination.name': 'gc.node.disk-stats',
          'messaging.destination.partition.id': '7',
          'messaging.kafka.offset': 41,
          'messaging.message.id': 'a',
          'messaging.message.body.size': expect.any(Number),
          'k8s.cluster.name': 'prod',
          'k8s.node.name': expect.any(String),
          'fleetgc.decision.id': 'decision-of-a',
          'fleetgc.decision.outcome': expect.any(String),
        },
        failure: null,
      },
    ]);
  });

  test.each([
    ['an order', recordOf(nodeOutput('observe', observe()))],
    ['a command', recordOf(nodeOutput('commands', command()))],
    ['an inventory that answers one', recordOf(nodeOutput('inventory', inventory({ reclaim: reclaim() })))],
  ])('where it is %s, whatever follows', async (_, record) => {
    const { deliver, spans } = await traced();
    await deliver([record]);
    expect(spans.map(({ parent, links }) => ({ parent, links }))).toEqual([
      { parent: { traceparent: TRACEPARENT }, links: [] },
    ]);
  });

  test('where its handler failed, with what failed', async () => {
    const { deliver, spans } = await traced(() => {
      throw new FleetGcError('INTERNAL', 'broken');
    });
    await deliver([message('a')]);
    expect(spans.map(({ failure }) => failure)).toEqual(['handler-failed']);
  });
});

describe('a message has none', () => {
  test('where no order follows from it: a sample that meets no threshold', async () => {
    const { deliver, spans } = await traced(() => [[nodeOutput('decisions', decision())]]);
    await deliver([message('a')]);
    expect(spans).toEqual([]);
  });

  test.each([
    ['an inventory that nobody asked for', recordOf(nodeOutput('inventory', inventory({ reclaim: null })))],
    ['what nobody can read', garbage('prod/web-1')],
  ])('where it is %s', async (_, record) => {
    const { deliver, spans } = await traced();
    await deliver([record]);
    expect(spans).toEqual([]);
  });

  test('where nobody traces', async () => {
    const { log } = await consumer();
    await log.deliver([message('a')]);
    expect(log.published.flat()).not.toEqual([]);
  });
});

test('a traceparent that is none gives a span of a new trace, without a parent that nobody could find', async () => {
  const { deliver, spans } = await traced();
  const record = message('a');
  await deliver([{ ...record, headers: { ...record.headers, traceparent: 'hostile' } }]);
  const [span] = spans;
  expect(span?.context.traceparent).toMatch(/^00-[0-9a-f]{32}-[0-9a-f]{16}-01$/);
  expect(span?.parent).toBeNull();
});
