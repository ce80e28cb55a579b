import { type ChildProcess, spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import type { EventLogOptions } from '../../../../packages/log/open.ts';
import { partitionOf } from '../../../../packages/log/partition.ts';
import type { LogRecord } from '../../../../packages/log/port.ts';
import { collector, deferred, subscriptionOf, uniqueGroup, uniqueKey, until, within } from '../probe.ts';
import { PATIENCE_MS, serve, type TriedLog } from './subject.ts';

export function memberContract(tried: () => TriedLog): void {
  test('a group without offsets starts where it says, and one with offsets where it was', async (context) => {
    const { log, publishTexts } = tried();
    const key = uniqueKey();
    await publishTexts(key, ['old']);
    const latest = collector(key);
    const spec = subscriptionOf({ start: 'latest' });
    const first = await log.subscribe(spec, latest.handle);
    await until('a member', () => first.state().assigned.length > 0, PATIENCE_MS);
    await publishTexts(key, ['new']);
    await until('the new record', () => latest.records.length > 0, PATIENCE_MS);
    await first.stop();

    await publishTexts(key, ['while away']);
    await serve(context, log, spec, latest.handle);
    await until('the record of the pause', () => latest.records.length > 1, PATIENCE_MS);
    expect(latest.texts()).toEqual(['new', 'while away']);
  });

  test('the state tells of members, partitions and lag', async (context) => {
    const { log, publishTexts } = tried();
    const key = uniqueKey();
    const gate = deferred();
    const partition = `gc.node.results/${partitionOf('gc.node.results', key)}`;
    const subscription = await serve(
      context,
      log,
      subscriptionOf({ start: 'latest', maxSliceRecords: 1 }),
      (records) => (records.some((record) => record.key === key) ? gate.promise : Promise.resolve()),
    );
    await until('a member', () => subscription.state().assigned.length > 0, PATIENCE_MS);
    expect(subscription.state()).toMatchObject({ joined: true, problem: null });
    await publishTexts(key, ['1', '2', '3']);
    await until('lag', () => (subscription.state().lag.get(partition) ?? 0) >= 3);
    gate.resolve();
    await until('no lag', () => subscription.state().lag.get(partition) === 0);
  });
}

/** What a person asks who looks from outside. */
export function groupProgressContract(tried: () => TriedLog): void {
  test('a group is told with its members and what it has not committed, also when nobody is there', async () => {
    const { log, publishTexts } = tried();
    const key = uniqueKey();
    const group = uniqueGroup();
    const place = `gc.node.results/${partitionOf('gc.node.results', key)}`;
    const seen = collector(key);
    await publishTexts(key, ['0']);
    const member = await log.subscribe(subscriptionOf({ group, start: 'earliest' }), seen.handle);
    await until('the first record', () => seen.records.length === 1, PATIENCE_MS);
    const progress = async () => (await log.groups([group]))[0];
    await until('its commit', async () => (await progress())?.lag.get(place) === 0, PATIENCE_MS);
    expect(await progress()).toMatchObject({ group, members: 1 });
    await member.stop();

    await publishTexts(key, ['1', '2']);
    expect((await progress())?.lag.get(place)).toBe(2);
    const partition = partitionOf('gc.node.results', key);
    expect((await progress())?.waiting).toContainEqual(
      expect.objectContaining({ topic: 'gc.node.results', partition, left: 2 }),
    );
    await until('nobody', async () => (await progress())?.members === 0, PATIENCE_MS);
  });

  test('of a group that never was nothing is told, and the log names who keeps it', async () => {
    const { log } = tried();
    const groups = await log.groups(['nobody-ever']);
    expect(groups).toEqual([{ group: 'nobody-ever', members: 0, lag: new Map(), waiting: [] }]);
    expect(await log.servers()).toHaveLength(1);
  });
}

export function groupContract(tried: () => TriedLog): void {
  test('each record goes to one member; when that leaves, another goes on where it was', async (context) => {
    const { log, open, publishTexts } = tried();
    const key = uniqueKey();
    const spec = subscriptionOf({ start: 'earliest' });
    const [a, b] = [collector(key), collector(key)];
    const first = await log.subscribe(spec, a.handle);
    await publishTexts(key, ['1']);
    await until('the first record', () => a.records.length === 1, PATIENCE_MS);
    const other = await open();
    const second = await serve(context, other, spec, b.handle);
    await until('both members', () => second.state().joined && first.state().joined, PATIENCE_MS);
    await publishTexts(key, ['2']);
    await until('the second record', () => a.records.length + b.records.length >= 2, PATIENCE_MS);
    await first.stop();
    await publishTexts(key, ['3']);
    await until('the third record', () => b.texts().includes('3'), PATIENCE_MS);

    expect([...a.texts(), ...b.texts()]).toEqual(['1', '2', '3']);
  });

  test('what a killed member had in hand comes again', async (context) => {
    const { log, publishTexts, subject } = tried();
    const key = uniqueKey();
    const group = uniqueGroup();
    await publishTexts(key, ['in hand']);
    const child = startMember(subject.options, group);
    await tookRecord(child, 'in hand');
    child.kill('SIGKILL');
    const seen = collector(key);
    await serve(context, log, subscriptionOf({ group }), seen.handle);
    await until('the record again', () => seen.texts().includes('in hand'), PATIENCE_MS);
  });

  test('long work does not lose the group, and the record comes once', async (context) => {
    const { log, publishTexts, subject } = tried();
    const key = uniqueKey();
    const spec = subscriptionOf({ start: 'latest' });
    const started: string[] = [];
    const ended: boolean[] = [];
    const work = (signal: AbortSignal) =>
      new Promise<void>((resolve) => setTimeout(resolve, subject.sessionMs * 1.3)).then(() => {
        ended.push(signal.aborted);
      });
    const handle = async (records: readonly LogRecord[], signal: AbortSignal): Promise<void> => {
      if (!records.some((record) => record.key === key)) return;
      started.push('started');
      await work(signal);
    };
    const first = await serve(context, log, spec, handle);
    await until('a member', () => first.state().assigned.length > 0, PATIENCE_MS);
    await publishTexts(key, ['long']);
    await until('the start', () => started.length > 0, PATIENCE_MS);
    await until('the end', () => ended.length > 0, PATIENCE_MS);
    const partition = `gc.node.results/${partitionOf('gc.node.results', key)}`;
    await until('the commit', () => first.state().lag.get(partition) === 0);
    expect([started.length, ended]).toEqual([1, [false]]);
  });
}

export function commitContract(tried: () => TriedLog): void {
  test('only after the handler resolved: what it returned early from comes again', async (context) => {
    const { log, publishTexts } = tried();
    const key = uniqueKey();
    const spec = subscriptionOf();
    await publishTexts(key, ['a']);
    const entered = deferred();
    const first = await log.subscribe(spec, async (records, signal) => {
      if (!records.some((record) => record.key === key)) return;
      entered.resolve();
      await new Promise((resolve) => signal.addEventListener('abort', resolve));
    });
    await within('the slice', entered.promise, PATIENCE_MS);
    await within('the stop', first.stop(), 6000);

    const seen = collector(key);
    await serve(context, log, spec, seen.handle);
    await until('the record again', () => seen.records.length === 1, PATIENCE_MS);
  });

  test('a stop in the middle of a slice lets it end and commits it', async (context) => {
    const { log, publishTexts } = tried();
    const key = uniqueKey();
    const spec = subscriptionOf();
    await publishTexts(key, ['a']);
    const entered = deferred();
    const gate = deferred();
    const aborted: boolean[] = [];
    const first = await log.subscribe(spec, async (records, signal) => {
      if (!records.some((record) => record.key === key)) return;
      entered.resolve();
      await gate.promise;
      aborted.push(signal.aborted);
    });
    await within('the slice', entered.promise, PATIENCE_MS);
    const stopped = first.stop();
    await publishTexts(key, ['b']);
    gate.resolve();
    await within('the stop', stopped, 6000);
    expect(aborted).toEqual([false]);

    const seen = collector(key);
    await serve(context, log, spec, seen.handle);
    await until('the next record', () => seen.records.length > 0, PATIENCE_MS);
    expect(seen.texts()).toEqual(['b']);
  });

  test('stopping when nothing is in hand is quick, though the log is idle', async () => {
    const { log } = tried();
    const subscription = await log.subscribe(subscriptionOf({ start: 'latest' }), async () => undefined);
    await until('a member', () => subscription.state().assigned.length > 0, PATIENCE_MS);
    await within('the stop', subscription.stop(), 1500);
    await expect(subscription.finished).resolves.toBeUndefined();
  });
}

function startMember(options: EventLogOptions, group: string): ChildProcess {
  const program = fileURLToPath(new URL('../member-process.ts', import.meta.url));
  return spawn(process.execPath, [program, JSON.stringify(options), group], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
}

async function tookRecord(child: ChildProcess, value: string): Promise<void> {
  let output = '';
  child.stdout?.on('data', (chunk) => {
    output += chunk;
  });
  await until('the other process to take the record', () => output.includes(`took ${value}`), PATIENCE_MS);
}
