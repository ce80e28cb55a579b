import fc from 'fast-check';
import { expect, test } from 'vitest';
import { openStateDirectory } from '../../../../packages/machine/state-directory.ts';
import { createLogger } from '../../../../packages/process/logger.ts';
import { createMetrics } from '../../../../packages/process/metrics.ts';
import { Command, type Holder } from '../../../../schemas/events/command.ts';
import { LARGEST_UINT64 } from '../../../../schemas/events/filesystem.ts';
import {
  MAX_CAUSE_TEXT_LENGTH,
  MAX_RECLAIM_ROUNDS,
  type Reclaim,
} from '../../../../schemas/events/reclaim.ts';
import type { Instant } from '../../../../schemas/events/time.ts';
import { openJournal } from '../../../../services/node/executor/journal.ts';
import { createExecutorMetrics } from '../../../../services/node/executor/metrics.ts';
import { receiveCommands } from '../../../../services/node/executor/receive.ts';
import { anyText } from '../../../fixtures/any-text.ts';
import { containerRemoval, imageRemoval } from '../../../fixtures/command.ts';
import { filesystems } from '../../../fixtures/filesystems.ts';
import { input } from '../../../fixtures/input.ts';
import { NODE } from '../../../fixtures/inventory.ts';
import { digestOf } from '../../../fixtures/listing.ts';
import { reclaim } from '../../../fixtures/reclaim.ts';
import { instant } from '../../../fixtures/time.ts';
import { logLines } from '../../../support/log-lines.ts';
import { manualClock } from '../../../support/manual-clock.ts';
import { runs } from '../../../support/property-runs.ts';
import { temporaryDirectory } from '../../../support/temporary-directory.ts';
import { addContainer, addImages, type ExecutorNode, executorNode } from './support/executor-node.ts';

const MOST = Number.MAX_SAFE_INTEGER;
const logger = createLogger({ service: 'test', level: 'info' }, logLines());

const oddNumber = fc.oneof(fc.constantFrom(0, -0, 1, MOST - 1, MOST), fc.maxSafeNat());
/** A command with half a character never comes here: its parser refuses it. */
const oddText = fc.oneof(
  anyText,
  fc.constantFrom('', '\u0000', '__proto__', 'x'.repeat(MAX_CAUSE_TEXT_LENGTH), 'x'.repeat(200)),
);
const isCauseText = (text: string): boolean => text.length <= MAX_CAUSE_TEXT_LENGTH;
const oddName = oddText.filter((text) => text !== '');
const oddUint64 = fc.constantFrom('0', '1', '9007199254740993', LARGEST_UINT64);

const oddReclaim: fc.Arbitrary<Reclaim | null> = fc.option(
  fc
    .record({
      id: oddName,
      cause: fc.record({
        signal: fc.oneof(oddName.filter(isCauseText), fc.constantFrom('imageGC', 'imagefs.available')),
        threshold: oddText.filter(isCauseText),
        reading: oddText.filter(isCauseText),
        policy: oddText.filter(isCauseText),
        eventId: oddName,
      }),
      target: fc.record({
        filesystem: fc.constantFrom('nodefs', 'imagefs', 'containerfs'),
        resource: fc.constantFrom('availableBytes', 'inodesFree'),
        atLeast: oddUint64,
      }),
      step: fc.constantFrom('containers', 'images'),
      round: fc.integer({ min: 1, max: MAX_RECLAIM_ROUNDS }),
    })
    .map(reclaim),
  { freq: 5 },
);

/** Of the same reason, so that they are added. */
const oddHolders: fc.Arbitrary<Holder[]> = fc.array(
  fc.record({
    reason: fc.constantFrom('waiting', 'held', 'backing-off', 'in-use'),
    objects: oddNumber,
    bytes: oddNumber,
  }),
  { maxLength: 4 },
);

const oddImage = fc.record({
  kind: fc.constant('image' as const),
  id: fc.oneof(oddName, fc.constantFrom('a', 'b', 'c').map(digestOf)),
  sizeBytes: oddNumber,
  estimatedBytes: oddNumber,
  rule: oddText,
});
const oddPodObject = fc.record({
  kind: fc.constantFrom('container' as const, 'sandbox' as const),
  id: fc.oneof(oddName, fc.constantFrom('k1', 'k2')),
  rule: oddText,
  podGone: fc.boolean(),
});

/** Whatever a command may say that its schema takes; `takenAt` is told from the time at which it comes. */
const oddCommand = fc
  .record({
    over: fc.record({
      decisionId: oddName,
      inventoryId: oddName,
      lifetimeMs: fc.integer({ min: 1, max: 600_000 }),
      reclaim: oddReclaim,
    }),
    taken: fc.constantFrom<Partial<Instant>>(
      {},
      {},
      { sinceBootMs: 0 },
      { sinceBootMs: MOST },
      { bootId: 'another' },
    ),
    images: fc.array(oddImage, { minLength: 1, maxLength: 4 }),
    podObjects: fc.array(oddPodObject, { minLength: 1, maxLength: 4 }),
    holders: oddHolders,
    isOfImages: fc.boolean(),
    mark: oddText,
  })
  .map(({ over, taken, images, podObjects, holders, isOfImages, mark }) => (now: Instant, n: number) => {
    const common = { ...over, id: `${n}${mark}`.slice(0, 200), takenAt: { ...now, ...taken } };
    const command = isOfImages
      ? imageRemoval([], { ...common, items: images, holders })
      : containerRemoval([], { ...common, items: podObjects });
    return Command.parse(command);
  });

/** Opened as by the next process, it holds what was written; nothing of it is lost. */
function expectToOpenEqual(node: ExecutorNode): void {
  const written: unknown = JSON.parse(node.state.files.get('journal') ?? '');
  expect(openJournal({ directory: node.state, now: node.clock.now(), logger }).state()).toEqual(written);
}

test('whatever a command says, each write of the journal is one that the next start reads', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(oddCommand, { minLength: 1, maxLength: 3 }),
      fc.array(oddUint64, { minLength: 2, maxLength: 2 }),
      async (commands, readings) => {
        const node = executorNode();
        addImages(node, ['a', 'b', 'c']);
        for (const id of ['k1', 'k2']) addContainer(node, id);
        node.runtime.filesystemReadings = () =>
          filesystems({
            capacityBytes: LARGEST_UINT64,
            availableBytes: readings[node.runtime.gone.length % 2] ?? '0',
          });
        node.state.afterWrite = (name) => {
          if (name === 'journal') expectToOpenEqual(node);
        };
        const running = node.start();
        for (const [n, commandAt] of commands.entries()) {
          node.clock.advance(1_000);
          await running.carryOut(commandAt(node.clock.now(), n));
        }
        await running.stop();
        expect(node.logLines.filter((line) => /journal kept in memory|abandoned/.test(line))).toEqual([]);
      },
    ),
    // A failure is a wait for a result that never comes: not again and again.
    { ...runs(60), endOnFailure: true },
  );
});

test('an expired command with the largest sizes leaves a journal on disk that the next start reads', () => {
  const directory = openStateDirectory(temporaryDirectory(), 'machine');
  const clock = manualClock();
  const journal = openJournal({ directory, now: clock.now(), logger });
  const command = imageRemoval(['a', 'b'], {
    takenAt: instant({ bootId: 'another' }),
    reclaim: reclaim({ round: 5 }),
  });
  const metrics = createExecutorMetrics(createMetrics());
  const forged = { ...command, items: command.items.map((item) => ({ ...item, estimatedBytes: MOST })) };
  const reporter = () => ({ identity: NODE, at: clock.now(), journal: journal.kept() });
  receiveCommands({ identity: NODE, journal, clock, reporter, logger, metrics })(input('commands', forged));
  expect(journal.state().unpublished.map(({ output }) => output.event)).toMatchObject([
    { type: 'fleetgc.node.command-result' },
    { holders: [{ reason: 'in-use' }, { reason: 'waiting', objects: 2, bytes: MOST }] },
  ]);
  expect(openJournal({ directory, now: clock.now(), logger }).state()).toEqual(journal.state());
});
