import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { nodeOutput } from '../../../../packages/decision/handler.ts';
import { openEmbeddedLog } from '../../../../packages/log/embedded.ts';
import { MAX_COMMAND_LIFETIME_MS } from '../../../../schemas/events/subject-headers.ts';
import { TOPICS } from '../../../../schemas/events/topics.ts';
import { nodeSubscription } from '../../../../services/node/executor/run.ts';
import { imageRemoval } from '../../../fixtures/command.ts';
import { NODE } from '../../../fixtures/inventory.ts';
import { SECOND } from '../../../fixtures/time.ts';
import { silentContext } from '../../../packages/log/probe.ts';
import { outgoing } from '../../../support/logs/log-record.ts';
import { temporaryDirectory } from '../../../support/temporary-directory.ts';
import { waitUntil } from '../../../support/wait-until.ts';

const BOUND_MS = 60_000;

/** Publishes orders, each so long before the node starts, and one more after that; gives what the node reads. */
async function readAfter(agesMs: Readonly<Record<string, number>>): Promise<readonly string[]> {
  const startMs = Date.now();
  let nowMs = startMs;
  const log = await openEmbeddedLog(
    { path: join(temporaryDirectory(), 'log.db'), maxBytes: 16 * 1024 * 1024 },
    silentContext({ now: () => nowMs }),
  );
  onTestFinished(() => log[Symbol.asyncDispose]());
  await log.createTopics();
  const publish = (id: string) =>
    log.publish([outgoing(nodeOutput('commands', imageRemoval(['a'], { id })))]);
  for (const [id, ageMs] of Object.entries(agesMs)) {
    nowMs = startMs - ageMs;
    await publish(id);
  }
  nowMs = startMs;
  const read: string[] = [];
  const subscription = await log.subscribe(
    { ...nodeSubscription(NODE), topics: [TOPICS.commands.name] },
    async (records) => {
      read.push(...records.map(({ value }) => idOf(String(value))));
    },
  );
  onTestFinished(() => subscription.stop());
  await waitUntil('the reader', BOUND_MS, () => subscription.state().joined);
  await publish('new');
  await waitUntil('the last order', BOUND_MS, () => read.includes('new'));
  return read;
}

test('a node that starts reads every order that can still be alive, however long it was away', async () => {
  const read = await readAfter({
    dead: MAX_COMMAND_LIFETIME_MS + SECOND,
    alive: MAX_COMMAND_LIFETIME_MS - SECOND,
  });
  expect(read).toEqual(['alive', 'new']);
});

test('a node that starts after all orders have ended reads none of them', async () => {
  const read = await readAfter({
    older: 2 * MAX_COMMAND_LIFETIME_MS,
    dead: MAX_COMMAND_LIFETIME_MS + SECOND,
  });
  expect(read).toEqual(['new']);
});

const idOf = (text: string): string => JSON.parse(text).id;
