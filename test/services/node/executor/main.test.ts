import type { Logger } from 'pino';
import { expect, onTestFinished, test } from 'vitest';
import { nodeOutput } from '../../../../packages/decision/handler.ts';
import { partitionOf } from '../../../../packages/log/partition.ts';
import { openStateDirectory } from '../../../../packages/machine/state-directory.ts';
import { pause } from '../../../../packages/process/backoff.ts';
import {
  type CrashMarks,
  NO_MARKS,
  openCrashMarks,
} from '../../../../packages/records/dead-letters/crash-marks.ts';
import { createDeadLetters } from '../../../../packages/records/dead-letters/dead-letters.ts';
import { createPublisher, nodeSource } from '../../../../packages/records/publisher.ts';
import { UNSIGNED } from '../../../../packages/records/trust/signer.ts';
import { TRUST_OFF } from '../../../../packages/records/trust/trust.ts';
import { nodeKey } from '../../../../schemas/events/identity.ts';
import { TOPICS } from '../../../../schemas/events/topics.ts';
import {
  IMAGE_HISTORY_BYTES,
  IMAGE_HISTORY_FILE,
  ImageHistoryFile,
} from '../../../../schemas/state/image-history.ts';
import { NO_DISK_HISTORY } from '../../../../services/node/agent/disks.ts';
import { filesOnDisk, nodeSubscription, runNodeExecutor } from '../../../../services/node/executor/run.ts';
import { imageRemoval } from '../../../fixtures/command.ts';
import { runtimeImage } from '../../../fixtures/listing.ts';
import { instant } from '../../../fixtures/time.ts';
import { bodyOf, decisionLog } from '../../../support/logs/decision-log.ts';
import { outgoing } from '../../../support/logs/log-record.ts';
import { manualClock } from '../../../support/manual-clock.ts';
import { temporaryDirectory } from '../../../support/temporary-directory.ts';
import { AGREEING_POLICY, agreeingInventory } from './support/agreeing-inventory.ts';
import { fakeRuntime } from './support/fake-runtime.ts';

/** An executor on an embedded log and a state directory of its own, as a process runs it. */
async function runExecutor(marksOf: (directory: string, logger: Logger) => CrashMarks = () => NO_MARKS) {
  const { deps, records } = await decisionLog();
  const runtime = fakeRuntime();
  const clock = manualClock();
  const directory = temporaryDirectory();
  const state = openStateDirectory(directory, 'machine');
  const identity = { cluster: 'prod', node: 'web-1', nodeInstance: state.nodeInstance };
  const publisher = createPublisher({
    signer: UNSIGNED,
    log: deps.log,
    source: nodeSource(identity),
    now: deps.now,
    ids: deps.ids,
  });
  const group = nodeSubscription(identity).group;
  const deadLetters = createDeadLetters({ ...deps, publisher, group, now: deps.monotonicNow });
  const stopping = new AbortController();
  const running = runNodeExecutor(
    {
      ...deps,
      node: {
        trust: TRUST_OFF,
        identity,
        runtime,
        filesystems: runtime,
        clock,
        state,
        policy: () => ({ kind: 'enforced', record: AGREEING_POLICY }),
        diskHistory: () => NO_DISK_HISTORY,
        takeInventory: async (reclaim) =>
          agreeingInventory(
            {
              podLogsDir: directory,
              containerLogsDir: directory,
              images: [...runtime.images.values()],
              containers: [],
              sandboxes: [],
            },
            clock.now(),
            reclaim,
          ),
        wantedByPods: () => [],
        podsNow: null,
      },
      files: filesOnDisk(
        {
          podLogsDir: directory,
          containerLogsDir: directory,
          localFile: { path: `${directory}/none`, isNamed: false },
        },
        { clock, state, logger: deps.logger },
      ),
      publisher,
      deadLetters,
      marks: marksOf(directory, deps.logger),
      sleep: pause,
      random: () => 0,
      onStarted: () => undefined,
    },
    stopping.signal,
  );
  onTestFinished(async () => {
    stopping.abort();
    await running;
  });
  return { deps, records, runtime, clock, identity, state };
}

test('an executor takes commands from the log, carries them out and reports', async () => {
  const { deps, records, runtime, identity, state } = await runExecutor();
  const image = runtimeImage('a');
  runtime.images.set(image.id, image);
  state.open(IMAGE_HISTORY_FILE, IMAGE_HISTORY_BYTES, ImageHistoryFile).write({
    version: 1,
    at: instant(),
    watchedSinceMs: 0,
    clockSteadySince: instant(),
    images: [[image.id, 0, null]],
  });
  const command = imageRemoval([image.id], { ...identity });
  await deps.log.publish([outgoing(nodeOutput('commands', command))]);
  const results = (await records('results', 2)).map(bodyOf);
  expect(results).toMatchObject([
    { type: 'fleetgc.node.object-result', result: { outcome: 'removed' }, journal: 'disk' },
    { type: 'fleetgc.node.command-result', result: { outcome: 'done', removed: 1 } },
  ]);
  expect(runtime.gone).toEqual([image.id]);
});

test('what is no command for this node is refused and kept as a dead letter; what is not for it is left alone', async () => {
  const { deps, records, identity } = await runExecutor();
  const command = imageRemoval(['a'], { ...identity });
  const good = outgoing(nodeOutput('commands', command));
  const bad = Buffer.from(JSON.stringify({ ...command, force: true }));
  await deps.log.publish([
    { ...good, key: keyOnSamePartition(nodeKey(identity)), value: Buffer.from('not JSON') },
    { ...good, value: bad },
  ]);
  expect(bodyOf((await records('results', 1))[0])).toMatchObject({
    commandId: 'command-1',
    result: { outcome: 'refused', reason: 'malformed', message: expect.stringContaining('force') },
  });
  const letters = await records('deadLetters', 1);
  expect(letters.map(bodyOf)).toMatchObject([{ cause: 'wrong-schema', value: bad.toString('base64') }]);
});

test('a command over which two processes ended becomes a dead letter, and the executor goes on with the next', async () => {
  const { deps, records, identity, runtime } = await runExecutor((directory, logger) => ({
    ...openCrashMarks(directory, 'in-hand', logger),
    deathsOf: ({ offset }) => (offset === 0n ? 2 : 0),
  }));
  const [deadly, next] = ['deadly', 'next'].map((id) =>
    outgoing(nodeOutput('commands', imageRemoval(['a'], { ...identity, id }))),
  );
  if (deadly === undefined || next === undefined) throw new Error('two commands were written');
  await deps.log.publish([deadly, next]);
  expect((await records('deadLetters', 1)).map(bodyOf)).toMatchObject([{ cause: 'process-died' }]);
  const results = (await records('results', 2)).map(bodyOf);
  expect(results).toMatchObject([{ commandId: 'next' }, { commandId: 'next' }]);
  expect(runtime.gone).toEqual([]);
});

/** Another node's key, on the same partition of the topic of commands. */
function keyOnSamePartition(key: string): string {
  const partition = partitionOf(COMMANDS, key);
  const others = Array.from({ length: 10_000 }, (_, n) => `prod/other-${n}`);
  return others.find((other) => partitionOf(COMMANDS, other) === partition) ?? 'none';
}

const COMMANDS = TOPICS.commands.name;
