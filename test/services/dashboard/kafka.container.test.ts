import { join } from 'node:path';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { EventLogOptions, openEventLog } from '../../../packages/log/open.ts';
import type { EventLog } from '../../../packages/log/port.ts';
import { PROJECTED_TOPICS } from '../../../packages/read-model/project.ts';
import { TOPICS } from '../../../schemas/events/topics.ts';
import { HOUR } from '../../fixtures/time.ts';
import { deleteTopic } from '../../packages/log/delete-topic.ts';
import { silentContext } from '../../packages/log/probe.ts';
import { type Broker, startBroker } from '../../support/kafka/kafka.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { caughtUp, type Dashboard, dashboardOf } from './support/dashboard.ts';
import { tell, toldBy, untilTold } from './support/telling.ts';

let broker: Broker;
beforeAll(async () => {
  broker = await startBroker();
});
afterAll(() => broker?.[Symbol.asyncDispose]());

async function openLog(): Promise<EventLog> {
  const options = { kind: 'kafka', brokers: [broker.address], clientId: 'dashboard', replicationFactor: 1 };
  const log = await openEventLog(EventLogOptions.parse(options), silentContext());
  onTestFinished(() => log[Symbol.asyncDispose]());
  return log;
}

const following = (log: EventLog, path: string, now = Date.now): Promise<Dashboard> =>
  dashboardOf(log, { path, now, from: { kind: 'kafka', log, name: `kafka ${broker.address}` } });

test('Kafka is followed: what is there, what comes, over a restart of either, back into the past, and when topics are made anew', async () => {
  const [publisher, log] = [await openLog(), await openLog()];
  await publisher.createTopics();
  const path = join(temporaryDirectory(), 'projection.db');
  await tell(publisher, 'node-1');
  const first = await following(log, path);
  await caughtUp(first);
  await untilTold(first, 'node-1');
  await tell(publisher, 'node-2');
  await untilTold(first, 'node-1', 'node-2');
  await broker.restart();
  await tell(publisher, 'node-3');
  await untilTold(first, 'node-1', 'node-2', 'node-3');
  await first.stop();

  await tell(publisher, 'node-4');
  const second = await following(log, path);
  await caughtUp(second);
  await untilTold(second, 'node-1', 'node-2', 'node-3', 'node-4');

  // Of one that begins three hours later all of this is the past.
  const later = await following(log, join(temporaryDirectory(), 'later.db'), () => Date.now() + 3 * HOUR);
  await caughtUp(later);
  await untilTold(later, 'node-1', 'node-2', 'node-3', 'node-4');
  await later.stop();

  for (const topic of PROJECTED_TOPICS) await deleteTopic(broker)(TOPICS[topic].name);
  await publisher.createTopics();
  await tell(publisher, 'node-5');
  await untilTold(second, 'node-5');
  await second.stop();
  const third = await following(log, path);
  await caughtUp(third);
  expect(await toldBy(third)).toEqual({ nodes: ['node-5'], objects: 1 });
});
