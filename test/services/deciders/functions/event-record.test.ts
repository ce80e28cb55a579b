import { expect, test } from 'vitest';
import { recordOf } from '../../../../services/deciders/functions/http/event-record.ts';

/** As KafkaSource of Knative sends what is no CloudEvent on the topic. */
const received = (topic: string) => ({
  attributes: new Map([
    ['specversion', '1.0'],
    ['id', 'one'],
    ['type', 'dev.knative.kafka.event'],
    ['source', `/apis/v1/namespaces/fleetgc/kafkasources/inventory#${topic}`],
    ['subject', 'partition:3#42'],
  ]),
  data: Buffer.from('{}'),
});

const reading = { topics: ['inventory'] as const, prefix: 'acme.', nowMs: 0 };

test('with a prefix a topic is known without it, and one of another fleet is not taken', () => {
  expect(recordOf(received('acme.gc.node.inventory'), reading)).toMatchObject({
    ok: true,
    record: { topic: 'gc.node.inventory', partition: 3, offset: 42n },
  });
  for (const other of ['gc.node.inventory', 'acme.eu-gc.node.inventory'])
    expect(recordOf(received(other), reading)).toMatchObject({ ok: false, kind: 'not-taken' });
});

test('an attribute of FleetGC names a topic without the prefix', () => {
  const { attributes, data } = received('acme.gc.node.inventory');
  const named = (topic: string) => ({ attributes: new Map([...attributes, ['fleetgctopic', topic]]), data });
  expect(recordOf(named('gc.node.inventory'), reading)).toMatchObject({ ok: true });
  expect(recordOf(named('acme.gc.node.inventory'), reading)).toMatchObject({ kind: 'not-taken' });
});
