import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Output } from '../../../../packages/decision/handler.ts';
import type { LogRecord } from '../../../../packages/log/port.ts';
import { FleetGcError } from '../../../../packages/process/errors.ts';
import { parseRecord } from '../../../../packages/records/parse/parse-record.ts';
import { MAX_COMMAND_BYTES } from '../../../../schemas/events/command.ts';
import { MAX_UNPUBLISHED } from '../../../../services/node/executor/journal.ts';
import { imageRemoval } from '../../../fixtures/command.ts';
import { input } from '../../../fixtures/input.ts';
import { NODE } from '../../../fixtures/inventory.ts';
import { instant } from '../../../fixtures/time.ts';
import { recordOf, TRACEPARENT } from '../../../support/logs/log-record.ts';
import { runs } from '../../../support/property-runs.ts';
import { addImages, type ExecutorNode, executorNode, until } from './support/executor-node.ts';

describe('a command', () => {
  test('is in the journal when the handler returns', async () => {
    const node = executorNode();
    const { executor, stop } = node.start();
    await stop();
    const command = imageRemoval(['a']);
    expect(await executor.commands(input('commands', command))).toEqual([]);
    const { entries } = JSON.parse(node.state.files.get('journal') ?? '');
    expect(entries).toMatchObject([{ command }]);
  });

  test('of more bytes than any decision service writes is refused as malformed', async () => {
    const node = executorNode();
    const { executor, stop } = node.start();
    const sent = (id: string, size: number) => {
      const command = imageRemoval(['a'], { id, takenAt: node.clock.now() });
      return { ...input('commands', command), bytes: Buffer.from(JSON.stringify(command).padEnd(size)) };
    };
    await executor.commands(sent('too-large', MAX_COMMAND_BYTES + 1));
    await executor.commands(sent('largest', MAX_COMMAND_BYTES));
    await until('both answers', () => node.result('too-large') && node.result('largest'));
    expect(node.result('too-large')).toMatchObject({ outcome: 'refused', reason: 'malformed' });
    expect(node.result('largest')).not.toMatchObject({ reason: 'malformed' });
    await stop();
  });

  test('[M6] that comes twice is done once, also over a restart', async () => {
    const node = executorNode();
    const [a = ''] = addImages(node, ['a']);
    const first = node.start();
    await first.carryOut(imageRemoval([a]));
    await first.receive(imageRemoval([a]));
    await first.stop();
    const second = node.start();
    await second.receive(imageRemoval([a]));
    await second.carryOut(imageRemoval(['b'], { id: 'command-2', takenAt: node.clock.now() }));
    expect(node.published.filter(({ type }) => type === 'fleetgc.node.command-result')).toHaveLength(2);
    expect(node.runtime.calls).toHaveLength(1);
  });

  test('[M6] waits while another one is carried out', async () => {
    const node = executorNode();
    const [a = '', b = ''] = addImages(node, ['a', 'b']);
    const { promise, resolve } = Promise.withResolvers<void>();
    node.runtime.before = (call) => (call === `removeImage ${a}` ? promise : undefined);
    const executor = node.start();
    await executor.receive(imageRemoval([a]));
    await until('the removal in hand', () => node.runtime.calls[0]);
    node.clock.advance(10);
    await executor.receive(imageRemoval([b], { id: 'command-2', takenAt: node.clock.now() }));
    expect(node.runtime.calls).toHaveLength(1);
    resolve();
    await until('the end of the second', () => node.result('command-2'));
    // The first removed an image after the second was decided.
    expect(node.result('command-2')).toMatchObject({ outcome: 'refused', reason: 'superseded' });
  });

  test('of another node on the same partition is none of our business', async () => {
    const node = executorNode();
    const executor = node.start();
    await executor.receive(imageRemoval(['a'], { node: 'web-2' }));
    await executor.receive(imageRemoval(['a'], { cluster: 'test' }));
    await executor.stop();
    expect(node.published).toEqual([]);
    expect(node.state.files.get('journal')).toBeUndefined();
  });

  test.each([
    {
      name: 'of another installation of the node',
      over: { nodeInstance: 'b5b3f5b0-0000-4000-8000-000000000000' },
      reason: 'other-instance',
    },
    { name: 'of another boot', over: { takenAt: instant({ bootId: 'before' }) }, reason: 'other-boot' },
    {
      name: 'that is over',
      over: { takenAt: instant({ sinceBootMs: instant().sinceBootMs - 60_000 }) },
      reason: 'expired',
    },
    {
      name: 'on an inventory from the future',
      over: { takenAt: instant({ sinceBootMs: instant().sinceBootMs + 1 }) },
      reason: 'taken-in-the-future',
    },
  ])('$name is refused, once, with the reason', async ({ over, reason }) => {
    const node = executorNode();
    const [a = ''] = addImages(node, ['a']);
    const executor = node.start();
    expect(await executor.carryOut(imageRemoval([a], over))).toMatchObject({ outcome: 'refused', reason });
    await executor.receive(imageRemoval([a], over));
    await executor.stop();
    expect(node.published).toMatchObject([{ nodeInstance: NODE.nodeInstance, commandId: 'command-1' }]);
    expect(node.runtime.calls).toEqual([]);
  });

  test('beyond those that may wait pushes out the oldest, which is refused', async () => {
    const node = executorNode();
    const [a = ''] = addImages(node, ['a']);
    node.runtime.before = (call) => (call === `removeImage ${a}` ? new Promise(() => undefined) : undefined);
    const executor = node.start();
    await executor.receive(imageRemoval([a], { id: 'in hand' }));
    await until('the removal in hand', () => node.runtime.calls[0]);
    for (let n = 1; n <= 17; n++) await executor.receive(imageRemoval(['b'], { id: `waiting ${n}` }));
    await until('the refusal', () => node.result('waiting 1'));
    expect(node.result('waiting 1')).toMatchObject({ outcome: 'refused', reason: 'superseded' });
    expect(node.result('waiting 2')).toBeUndefined();
  });

  test('is not taken while results pile up', async () => {
    const node = executorNode();
    node.beforePublish = () => {
      throw new FleetGcError('LOG_UNREACHABLE', 'no broker');
    };
    const first = node.start();
    await first.receive(imageRemoval(['a'], { takenAt: instant({ bootId: 'before' }) }));
    await first.stop();
    pileUp(node, MAX_UNPUBLISHED);
    const second = node.start();
    await second.receive(imageRemoval(['a'], { id: 'one more' }));
    await second.stop();
    pileUp(node, MAX_UNPUBLISHED + 1);
    const third = node.start();
    const receiving = third.receive(imageRemoval(['a'], { id: 'too many' }));
    await expect(receiving).rejects.toMatchObject({ code: 'LOG_UNREACHABLE', retry: true });
  });

  test('passes its trace on to what follows', async () => {
    const node = executorNode();
    const traces: unknown[] = [];
    node.beforePublish = (records) => {
      traces.push(...records.map(({ headers }) => headers.traceparent));
    };
    const { executor } = node.start();
    await executor.commands({
      ...input('commands', imageRemoval(['a'])),
      trace: { traceparent: TRACEPARENT },
    });
    await until('the result', () => node.result());
    expect(traces).toEqual([TRACEPARENT, TRACEPARENT]);
  });
});

/** Repeats the one result in the journal. */
function pileUp({ state }: ExecutorNode, count: number): void {
  const journal = JSON.parse(state.files.get('journal') ?? '');
  const unpublished = Array.from({ length: count }, () => journal.unpublished[0]);
  state.files.set('journal', JSON.stringify({ ...journal, unpublished }));
}

describe('what is no command', () => {
  const command = imageRemoval(['a']);
  const good = recordOf({ topic: 'commands', key: 'prod/web-1', event: command });
  const withValue = (value: unknown): Partial<LogRecord> => ({ value: Buffer.from(JSON.stringify(value)) });

  function refusals(over: Partial<LogRecord>) {
    const record = { ...good, ...over };
    const parsed = parseRecord('commands', record);
    if (parsed.ok) throw new Error('the record is a command');
    const { executor } = executorNode().start();
    return executor.onRejection('commands', parsed.rejection, record).flat();
  }

  const isTaken = (output: Output) => parseRecord('results', recordOf(output)).ok;

  test.each([
    {
      name: 'no JSON',
      over: { value: Buffer.from('{"id":') },
      reason: 'malformed',
      commandId: /^unreadable-/,
    },
    { name: 'no value', over: { value: null }, reason: 'malformed', commandId: /^unreadable-/ },
    {
      name: 'an unknown field',
      over: withValue({ ...command, force: true }),
      reason: 'malformed',
      commandId: /^command-1$/,
    },
    {
      name: 'an unknown kind',
      over: withValue({ ...command, kind: 'log-removal' }),
      reason: 'malformed',
      commandId: /^command-1$/,
    },
    {
      name: 'another version',
      over: withValue({ ...command, version: 2 }),
      reason: 'unsupported-version',
      commandId: /^command-1$/,
    },
    {
      name: 'a value for another node',
      over: withValue({ ...command, node: 'web-2' }),
      reason: 'other-node',
      commandId: /^command-1$/,
    },
    {
      name: 'an id that is none',
      over: withValue({ id: 7 }),
      reason: 'malformed',
      commandId: /^unreadable-/,
    },
  ])('with our key and $name is refused: $reason', ({ over, reason, commandId }) => {
    const outputs = refusals(over);
    expect(outputs).toMatchObject([
      {
        topic: 'results',
        key: 'prod/web-1',
        event: { commandId: expect.stringMatching(commandId), result: { outcome: 'refused', reason } },
      },
    ]);
    expect(outputs.map(isTaken)).toEqual([true]);
  });

  test('a message that comes again gets the same answer, and another one if it is refused for something else by then', () => {
    const record = { ...good, value: Buffer.from('{"id":') };
    const { executor } = executorNode().start();
    const answersTo = (cause: 'not-json' | 'untrusted-key', message: string) =>
      executor.onRejection('commands', { cause, message, value: undefined }, record).flat();
    const [first] = answersTo('not-json', 'it is no JSON');
    const [again] = answersTo('not-json', 'it is no JSON');
    const [other] = answersTo('untrusted-key', 'its key was revoked');
    expect(again?.event.id).toBe(first?.event.id);
    expect(other?.event.id).not.toBe(first?.event.id);
    const sameCommand = { event: { commandId: expect.stringMatching(/^unreadable-[0-9a-f]{32}$/) } };
    expect([first, other]).toMatchObject([sameCommand, sameCommand]);
  });

  test('is counted as refused, where it is for this node', async () => {
    const { executor, metrics } = executorNode().start();
    const distrusted = { cause: 'untrusted-key', message: 'its key was revoked', value: null } as const;
    executor.onRejection('commands', distrusted, good);
    executor.onRejection('commands', distrusted, { ...good, key: 'prod/web-2' });
    expect(await metrics.text()).toMatch(/^fleetgc_executor_commands_total\{outcome="not-trusted"\} 1$/m);
  });

  test('whatever it is, its refusal is one that readers of results take', () => {
    const someField = fc.constantFrom('id', 'decisionId', 'inventoryId', 'kind', 'version', 'node');
    const oddValue = fc.oneof(
      fc.constantFrom('', null, 7, 'x'.repeat(501), '\ud800', 'fleetgc'),
      fc.jsonValue(),
    );
    const oddCommand = fc.dictionary(someField, oddValue, { minKeys: 1 }).map((odd) => ({
      ...command,
      force: true,
      ...odd,
    }));
    const anyValue = fc.oneof(oddCommand, fc.jsonValue()).map((value) => Buffer.from(JSON.stringify(value)));
    fc.assert(
      fc.property(fc.oneof(anyValue, fc.uint8Array().map(Buffer.from)), (value) => {
        expect(refusals({ value }).map(isTaken)).toEqual([true]);
      }),
      runs(300),
    );
  });

  test('has the same refusal each time it comes', () => {
    const id = () => refusals({ value: Buffer.from('x') })[0]?.event.id;
    expect(id()).toBe(id());
  });

  test('with the key of another node is none of our business', () => {
    expect(refusals({ key: 'prod/web-2', value: Buffer.from('x') })).toEqual([]);
    expect(refusals({ key: null, value: Buffer.from('x') })).toEqual([]);
  });
});
