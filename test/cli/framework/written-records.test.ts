import { expect, test } from 'vitest';
import { z } from 'zod';
import { runGivenVerb } from '../../../cli/framework/run-verb.ts';
import { operatorPublication, untilInterrupted } from '../../../cli/framework/task-event-log.ts';
import { defineVerb } from '../../../cli/framework/verb.ts';
import type { LogPublisher, OutgoingRecord } from '../../../packages/log/port.ts';
import { deleteKeys, type PolicyWriter } from '../../../packages/policy/write-policies.ts';
import { FleetGcError } from '../../../packages/process/errors.ts';
import { NOBODY_SAYS } from '../../../packages/records/doing.ts';
import { UNSIGNED_STATE } from '../../../packages/records/trust/state-signer.ts';
import { FakeProcess } from '../../support/fake-process.ts';
import { madeUpPositions } from '../../support/logs/made-up-positions.ts';
import { ScriptedLog } from '../../support/logs/scripted-log.ts';

type Publish = (records: readonly OutgoingRecord[], control: FakeProcess) => Promise<void>;

/** Deletes two policies on a log that publishes as the test says, and then reads. */
async function deleting(publish: Publish, after: (control: FakeProcess) => Promise<void> = async () => {}) {
  const control = new FakeProcess();
  const scripted = new ScriptedLog();
  const published: string[] = [];
  const log: LogPublisher = {
    publish: async (records) => {
      published.push(records[0]?.topic ?? '');
      await publish(records, control);
      return madeUpPositions(records);
    },
  };
  const verb = defineVerb({
    examples: ['fleetgc made'],
    options: z.object({}),
    run: async (_, { signal, written }) => {
      written.expect();
      const writer: PolicyWriter = {
        log: untilInterrupted(Object.assign(scripted, log), { signal, written }),
        publication: operatorPublication(),
        signer: UNSIGNED_STATE,
      };
      await deleteKeys(writer, ['db', 'web'], NOBODY_SAYS);
      await after(control);
      if (signal.aborted) throw new FleetGcError('INTERRUPTED', 'stopped before everything was read');
    },
  });
  const stderr: string[] = [];
  const exitCode = await runGivenVerb(
    {
      verb: { ...verb, name: 'made', summary: 'Made for a test.', kind: 'task' },
      rest: [],
      allVerbs: async () => [],
    },
    {
      environment: {},
      control,
      terminalColumns: null,
      monotonicNow: () => 0,
      writeOut: async () => undefined,
      stderr: { isTerminal: false, write: (text) => void stderr.push(text) },
    },
    'linux',
  );
  return { exitCode, published, told: stderr.at(-1) };
}

const AGAIN =
  'Nothing else was written. Run the same command again: it is safe, and writes what is missing.\n';
const never = (): Promise<void> => new Promise(() => undefined);

test('stopped while brokers do not acknowledge: what was sent may be there, and no more is sent', async () => {
  const ended = await deleting(async (_, control) => {
    control.signal('SIGINT');
    await never();
  });
  expect(ended).toEqual({
    exitCode: 130,
    published: ['gc.policy-versions'],
    told: `fleetgc made: stopped before the event log had acknowledged everything that was to be written. Not known whether written to gc.policy-versions: 2 records. ${AGAIN}`,
  });
});

test('stopped in the middle: what is half written is finished, since the half may hold nodes', async () => {
  const ended = await deleting(async ([first], control) => {
    if (first?.topic === 'gc.policy-versions') control.signal('SIGTERM');
  });
  expect(ended).toEqual({
    exitCode: 143,
    published: ['gc.policy-versions', 'gc.policies'],
    told: `fleetgc made: stopped before everything was read. Written to gc.policy-versions: 2 records. Written to gc.policies: db, web. ${AGAIN}`,
  });
});

test('stopped before the second half is acknowledged: what is written and what is not known are told apart', async () => {
  const ended = await deleting(async ([first], control) => {
    if (first?.topic === 'gc.policy-versions') return;
    control.signal('SIGINT');
    await never();
  });
  expect(ended.told).toContain(
    'Written to gc.policy-versions: 2 records. Not known whether written to gc.policies: db, web. ',
  );
});

test('stopped before anything is sent: nothing was written', async () => {
  const control = new FakeProcess();
  const stderr: string[] = [];
  const verb = defineVerb({
    examples: ['fleetgc made'],
    options: z.object({}),
    run: async (_, { signal, written }) => {
      written.expect();
      control.signal('SIGINT');
      await untilInterrupted(new ScriptedLog(), { signal, written }).publish([]);
    },
  });
  const exitCode = await runGivenVerb(
    {
      verb: { ...verb, name: 'made', summary: 'Made for a test.', kind: 'task' },
      rest: [],
      allVerbs: async () => [],
    },
    {
      environment: {},
      control,
      terminalColumns: null,
      monotonicNow: () => 0,
      writeOut: async () => undefined,
      stderr: { isTerminal: false, write: (text) => void stderr.push(text) },
    },
    'linux',
  );
  expect({ exitCode, told: stderr.at(-1) }).toEqual({
    exitCode: 130,
    told: 'fleetgc made: stopped before it had begun to write. Nothing was written.\n',
  });
});

test('a command that fails after all was written says only why', async () => {
  const ended = await deleting(
    async () => {},
    async () => {
      throw new FleetGcError('NOT_FOUND', 'there is no policy named nope');
    },
  );
  expect(ended).toMatchObject({ exitCode: 1, told: 'fleetgc made: there is no policy named nope\n' });
});

test('brokers that go away in the middle: the same is said', async () => {
  const ended = await deleting(async ([first]) => {
    if (first?.topic === 'gc.policies') throw new FleetGcError('LOG_UNREACHABLE', 'Cannot reach Kafka.');
  });
  expect(ended).toMatchObject({
    exitCode: 1,
    told: `fleetgc made: Cannot reach Kafka. Written to gc.policy-versions: 2 records. Not known whether written to gc.policies: db, web. ${AGAIN}`,
  });
});
