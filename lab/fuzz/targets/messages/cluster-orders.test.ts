import { expect, test } from 'vitest';
import { Signatories } from './claims.ts';
import { clusterCommandsOfNow, writtenBy } from './cluster-orders.ts';
import { madeMessage, messageOf } from './message.ts';

test('of the cluster that commands are given to, what may go does go, and nothing else', async () => {
  const signatories = new Signatories();
  const written: string[] = [];
  for (const command of clusterCommandsOfNow()) {
    const made = madeMessage('clusterCommands', messageOf(command), signatories);
    if (made !== null) written.push(...(await writtenBy(made.record, signatories)));
  }
  expect(written).toEqual(['free-1', 'free-2']);
});
