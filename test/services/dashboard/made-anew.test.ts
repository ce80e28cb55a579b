import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { EventLog } from '../../../packages/log/port.ts';
import { recreatedTopic } from '../../../packages/log/topic-differences.ts';
import { ownLog } from '../../cli/fleetgc.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { caughtUp, dashboardOf } from './support/dashboard.ts';
import { tell, toldBy, untilTold } from './support/telling.ts';

test('what was made of topics that are not there any more goes when the dashboard is started again', async () => {
  const [before, after] = [await ownLog(), await ownLog()];
  const path = join(temporaryDirectory(), 'projection.db');
  await tell(before.log, 'old-1');
  const first = await dashboardOf(before.log, { path });
  await caughtUp(first);
  expect(await toldBy(first)).toEqual({ nodes: ['old-1'], objects: 1 });
  await first.stop();
  await tell(after.log, 'new-1');
  const second = await dashboardOf(after.log, { path });
  await caughtUp(second);
  expect(await toldBy(second)).toEqual({ nodes: ['new-1'], objects: 1 });
});

test('topics that are made anew while they are followed are followed anew, without what was there before', async () => {
  const [before, after] = [await ownLog(), await ownLog()];
  const recreating = new AbortController();
  await tell(before.log, 'old-1');
  const dashboard = await dashboardOf(switching(before.log, after.log, recreating.signal));
  await caughtUp(dashboard);
  expect(await toldBy(dashboard)).toEqual({ nodes: ['old-1'], objects: 1 });
  await tell(after.log, 'new-1');
  recreating.abort();
  await untilTold(dashboard, 'new-1');
});

/** A log whose topics are made anew when `recreated` aborts, as an adapter tells it. */
function switching(before: EventLog, after: EventLog, recreated: AbortSignal): EventLog {
  const current = (): EventLog => (recreated.aborted ? after : before);
  return {
    publish: (records) => current().publish(records),
    subscribe: (subscription, handle) => current().subscribe(subscription, handle),
    createTopics: () => current().createTopics(),
    checkTopics: () => current().checkTopics(),
    servers: () => current().servers(),
    groups: (names) => current().groups(names),
    health: (topic) => current().health(topic),
    [Symbol.asyncDispose]: async () => undefined,
    async *read(request, signal) {
      if (recreated.aborted) return yield* after.read(request, signal);
      const signals = [recreated, ...(signal ? [signal] : [])];
      yield* before.read(request, AbortSignal.any(signals));
      if (recreated.aborted) throw recreatedTopic(request.topic, {});
    },
  };
}
