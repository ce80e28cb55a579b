import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { Ownership, startPositions, writtenPositions } from '../../../packages/log/embedded/group-member.ts';
import { openLogFile } from '../../../packages/log/embedded/opened-log.ts';
import { trackProblems } from '../../../packages/log/problems.ts';
import { FleetGcError } from '../../../packages/process/errors.ts';
import { leftAt } from '../../support/left-at-signal.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { outgoing, silentContext, uniqueKey } from './probe.ts';

test('an ownership that ended leaves nothing at the signal of its member, which goes on', async () => {
  const path = join(temporaryDirectory(), 'events.sqlite');
  const opened = await openLogFile({ path, maxBytes: 16 * 1024 * 1024 }, silentContext());
  onTestFinished(() => opened.database.close());
  onTestFinished(() => opened.changes.close());
  const key = uniqueKey();
  const assignment = { kind: 'key', key, lookBackMs: 60_000 } as const;
  const subscription = { group: 'g', topics: ['gc.node.results'], start: 'earliest', assignment } as const;
  await opened.database.write(({ partitions }) => partitions.createMissing());
  await opened.database.write(({ records }) => records.append([outgoing({ key })], Date.now()));
  const positions = await opened.database.read((tables) => startPositions(tables, subscription, Date.now()));
  const stopping = new AbortController();
  const ownership = new Ownership({
    opened,
    subscription,
    handle: async () => {
      throw new FleetGcError('LOG_CORRUPT', 'nothing can be read any more');
    },
    member: 'm',
    positions,
    state: { joined: true, served: [], problems: trackProblems() },
    stopping: stopping.signal,
  });

  await expect(ownership.serve()).rejects.toThrow('nothing can be read');
  expect(leftAt(stopping.signal)).toBe(0);
});

test('a group counts the processes that ended over a record, takes it alone then, and forgets them when one lived through it', async () => {
  const path = join(temporaryDirectory(), 'events.sqlite');
  const opened = await openLogFile({ path, maxBytes: 16 * 1024 * 1024 }, silentContext());
  onTestFinished(() => opened.database.close());
  onTestFinished(() => opened.changes.close());
  const key = uniqueKey();
  const subscription = {
    group: 'g',
    topics: ['gc.node.results'],
    start: 'earliest',
    assignment: { kind: 'shared' },
  } as const;
  await opened.database.write(({ partitions }) => partitions.createMissing());
  await opened.database.write(({ records }) =>
    records.append([outgoing({ key }), outgoing({ key }), outgoing({ key })], Date.now()),
  );
  const seen: string[] = [];
  const live = async (dies: boolean): Promise<void> => {
    const stopping = new AbortController();
    const positions = await opened.database.write((tables) => {
      tables.groups.acquireLease({ group: 'g', member: 'm', nowMs: Date.now() });
      return writtenPositions(tables, subscription, Date.now());
    });
    const ownership = new Ownership({
      opened,
      subscription,
      handle: async (records, _, inHand) => {
        seen.push(`${records.length} after ${inHand.deaths}`);
        await inHand.begin();
        // A process that is killed says no more.
        if (dies) throw new FleetGcError('LOG_CORRUPT', 'killed');
        await inHand.end();
        if (records.some(({ offset }) => offset === 2n)) stopping.abort();
      },
      member: 'm',
      positions,
      state: { joined: true, served: [], problems: trackProblems() },
      stopping: stopping.signal,
    });
    await ownership.serve().catch(() => undefined);
  };
  await live(true);
  await live(true);
  await live(false);
  expect(seen).toEqual(['3 after 0', '1 after 1', '1 after 2', '1 after 0', '1 after 0']);
});
