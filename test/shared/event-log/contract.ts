import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, type TestContext, test } from 'vitest';
import { TOPICS, type TopicName } from '../../../schemas/topics.ts';
import type { EventLogContext } from '../../../services/shared/event-log/context.ts';
import type { EventLogOptions } from '../../../services/shared/event-log/open.ts';
import { openEventLog } from '../../../services/shared/event-log/open.ts';
import { partitionOf } from '../../../services/shared/event-log/partition.ts';
import type {
  ActiveSubscription,
  EventLog,
  LogRecord,
  SliceHandler,
  Subscription,
} from '../../../services/shared/event-log/port.ts';
import {
  collector,
  deferred,
  keyElsewhere,
  outgoing,
  readAll,
  silentContext,
  subscriptionOf,
  text,
  uniqueGroup,
  uniqueKey,
  until,
  within,
} from './probe.ts';

/** An event log to be tested: where it is, and what only its own tools can do. */
export interface LogUnderTest extends AsyncDisposable {
  readonly options: EventLogOptions;
  /** Adds partitions to a topic behind our back. */
  addPartitions(topic: TopicName, total: number): Promise<void>;
  /** Deletes a topic with all it holds, behind our back. */
  deleteTopic(topic: TopicName): Promise<void>;
  /** Longer than a member may be silent before its group is given to another. */
  readonly sessionMs: number;
}

const MEBIBYTE = 1024 * 1024;
/** Groups need time to form and to notice a death. */
const PATIENCE_MS = 30_000;
const SLOW = { timeout: 60_000 };

/** What every adapter of the event log promises. */
export function eventLogContract(name: string, start: () => Promise<LogUnderTest>): void {
  describe(`event log contract: ${name}`, SLOW, () => {
    let subject: LogUnderTest;
    let log: EventLog;
    const opened: AsyncDisposable[] = [];

    async function open(over: Partial<EventLogContext> = {}): Promise<EventLog> {
      const another = await openEventLog(subject.options, silentContext(over));
      opened.push(another);
      return another;
    }

    beforeAll(async () => {
      subject = await start();
      log = await open();
    });
    afterAll(async () => {
      for (const each of opened.reverse()) await each[Symbol.asyncDispose]();
      await subject[Symbol.asyncDispose]();
    });

    const publishTexts = (key: string, texts: readonly string[], topic: TopicName = 'gc.node.results') =>
      log.publish(texts.map((value) => outgoing({ topic, key, value: Buffer.from(value) })));

    /** Runs before the topics exist. */
    test('without topics: publishing says that they are missing, subscribing waits for them', async (context) => {
      const key = uniqueKey();
      await expect(publishTexts(key, ['lost'])).rejects.toMatchObject({ code: 'TOPICS_MISSING' });
      expect((await log.checkTopics()).map(({ kind }) => kind)).toEqual(
        Object.keys(TOPICS).map(() => 'missing'),
      );
      const seen = collector(key);
      const subscription = await serve(context, log, subscriptionOf(), seen.handle);
      await until('a clear problem', () =>
        /gc.node.results is missing/.test(subscription.state().problem ?? ''),
      );

      expect(await log.createTopics()).toEqual(Object.values(TOPICS).map((spec) => spec.name));
      expect(await log.createTopics()).toEqual([]);
      expect(await log.checkTopics()).toEqual([]);
      await publishTexts(key, ['kept']);
      await until('the record', () => seen.records.length === 1, PATIENCE_MS);
      expect(subscription.state().problem).toBeNull();
    });

    test('a record comes back as it was published', async () => {
      const key = uniqueKey();
      const value = randomBytes(1000);
      const headers = { ce_id: 'ä-1', traceparent: '00-x', empty: '' };
      const before = Date.now();
      await log.publish([outgoing({ key, value, headers })]);

      const [record, ...more] = await readAll(log, key);
      expect(more).toEqual([]);
      expect(record).toEqual({
        topic: 'gc.node.results',
        partition: partitionOf('gc.node.results', key),
        offset: expect.any(BigInt),
        key,
        value,
        headers,
        timestampMs: expect.any(Number),
      });
      expect(record?.timestampMs).toBeGreaterThanOrEqual(before - 1000);
    });

    test('records of one key keep their order, within a publish and over several', async (context) => {
      const key = uniqueKey();
      const seen = collector(key);
      await serve(context, log, subscriptionOf(), seen.handle);
      const texts = Array.from({ length: 120 }, (_unused, index) => `${index}`);
      for (let at = 0; at < texts.length; at += 40) {
        const noise = Array.from({ length: 20 }, () => outgoing());
        await log.publish([
          ...noise,
          ...texts.slice(at, at + 40).map((value) => outgoing({ key, value: Buffer.from(value) })),
        ]);
      }
      await until('all records', () => seen.records.length >= texts.length, PATIENCE_MS);
      expect(seen.texts()).toEqual(texts);
      const offsets = seen.records.map((record) => record.offset);
      expect(offsets).toEqual(offsets.toSorted((a, b) => Number(a - b)));
    });

    test('a slice is consecutive records of one partition, no more than asked for', async (context) => {
      const key = uniqueKey();
      await publishTexts(
        key,
        Array.from({ length: 25 }, (_unused, index) => `${index}`),
      );
      const seen = collector(key);
      await serve(context, log, subscriptionOf({ maxSliceRecords: 7 }), seen.handle);
      await until('all records', () => seen.records.length === 25, PATIENCE_MS);

      for (const slice of seen.slices) {
        expect(slice.length).toBeLessThanOrEqual(7);
        expect(new Set(slice.map((record) => record.partition)).size).toBe(1);
      }
      expect(seen.texts()).toEqual(Array.from({ length: 25 }, (_unused, index) => `${index}`));
    });

    test('a group without offsets starts where it says, and one with offsets where it was', async (context) => {
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

    describe.concurrent('consumers', () => {
      describe('groups', () => {
        test('each record goes to one member; when that leaves, another goes on where it was', async (context) => {
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
      });

      describe('commits', () => {
        test('only after the handler resolved: what it returned early from comes again', async (context) => {
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
          const subscription = await log.subscribe(
            subscriptionOf({ start: 'latest' }),
            async () => undefined,
          );
          await until('a member', () => subscription.state().assigned.length > 0, PATIENCE_MS);
          await within('the stop', subscription.stop(), 1500);
          await expect(subscription.finished).resolves.toBeUndefined();
        });
      });

      describe('failing handlers', () => {
        const failures: readonly [string, () => Error][] = [
          ['Error', () => new Error('no')],
          ['TypeError', () => new TypeError('x is not a function')],
          ['SyntaxError', () => new SyntaxError('Unexpected token')],
          [
            'an error that calls itself not retriable',
            () => Object.assign(new Error('no'), { retriable: false }),
          ],
        ];
        test.for(failures)(
          'a handler that throws %s gets its slice again, and the consumer lives on',
          async ([, make], context) => {
            const key = uniqueKey();
            const seen: string[] = [];
            let left = 3;
            const subscription = await serve(
              context,
              log,
              subscriptionOf({ start: 'earliest' }),
              async (records) => {
                const mine = records.filter((record) => record.key === key).map(text);
                if (mine.length > 0 && left > 0) {
                  left -= 1;
                  throw make();
                }
                seen.push(...mine);
              },
            );
            await publishTexts(key, ['1']);
            await until('the record in the end', () => seen.includes('1'), PATIENCE_MS);
            await publishTexts(key, ['2']);
            await until('the next record', () => seen.includes('2'), PATIENCE_MS);
            expect(seen).toEqual(['1', '2']);
            expect(left).toBe(0);
            expect(subscription.state().problem).toBeNull();
          },
        );

        test('a poison message holds up its own partition only, with back-off, and shows as a problem', async (context) => {
          const poison = uniqueKey();
          const well = keyElsewhere(poison, 'gc.node.results', partitionOf);
          const seen = collector(well);
          let tries = 0;
          const subscription = await serve(
            context,
            log,
            subscriptionOf({ start: 'latest' }),
            async (records, signal) => {
              if (records.some((record) => record.key === poison)) {
                tries += 1;
                throw new Error('poisoned');
              }
              await seen.handle(records, signal);
            },
          );
          await until('a member', () => subscription.state().assigned.length > 0, PATIENCE_MS);
          await publishTexts(poison, ['p']);
          await until('some tries', () => tries >= 3, PATIENCE_MS);
          for (const value of ['1', '2', '3']) await publishTexts(well, [value]);
          await until('the records of other partitions', () => seen.records.length === 3, PATIENCE_MS);
          expect(subscription.state().problem).toMatch(/poisoned/);
          expect(tries).toBeLessThan(30);
        });
      });

      describe('the partition of one key', () => {
        const keyed = (key: string, lookBackMs: number) => ({
          group: `executor-${key}`,
          topics: ['gc.node.commands', 'gc.node.observe'] as const,
          start: 'earliest' as const,
          assignment: { kind: 'key' as const, key, lookBackMs },
        });

        test('only that partition of each topic is read', async (context) => {
          const key = uniqueKey();
          const foreign = keyElsewhere(key, 'gc.node.commands', partitionOf);
          const slices: LogRecord[] = [];
          const subscription = await serve(context, log, keyed(key, 60_000), async (records) => {
            slices.push(...records);
          });
          await until('a member', () => subscription.state().assigned.length > 0, PATIENCE_MS);
          const partition = partitionOf('gc.node.commands', key);
          expect(subscription.state().assigned.toSorted()).toEqual([
            `gc.node.commands/${partition}`,
            `gc.node.observe/${partition}`,
          ]);
          await publishTexts(foreign, ['foreign'], 'gc.node.commands');
          await publishTexts(key, ['command'], 'gc.node.commands');
          await publishTexts(key, ['order'], 'gc.node.observe');
          const mine = () => slices.filter((record) => record.key === key).map(text);
          await until('both records', () => mine().length === 2, PATIENCE_MS);
          expect(mine().toSorted()).toEqual(['command', 'order']);
          expect(slices.map((record) => record.key)).not.toContain(foreign);
        });

        test('begins so long before now by the time of the log, whatever was committed', async (context) => {
          const key = uniqueKey();
          await publishTexts(key, ['1'], 'gc.node.commands');
          const seen = collector(key);
          const first = await log.subscribe(keyed(key, 60_000), seen.handle);
          await until('the record', () => seen.records.length === 1, PATIENCE_MS);
          await first.stop();
          const again = collector(key);
          const second = await log.subscribe(keyed(key, 60_000), again.handle);
          await until('the same record', () => again.records.length === 1, PATIENCE_MS);
          await second.stop();

          const time = seen.records[0]?.timestampMs ?? 0;
          await until('two seconds later', () => Date.now() > time + 2000);
          await publishTexts(key, ['2', '3'], 'gc.node.commands');
          const late = collector(key);
          await serve(context, log, keyed(key, 1000), late.handle);
          await until('the new records', () => late.records.length > 1, PATIENCE_MS);
          expect(late.texts()).toEqual(['2', '3']);
        });

        test('the newest member owns it; the older stands by and gets it back', async (context) => {
          const key = uniqueKey();
          const [older, newer] = [collector(key), collector(key)];
          const first = await serve(context, log, keyed(key, 0), older.handle);
          await until('the first member', () => first.state().assigned.length > 0, PATIENCE_MS);
          const other = await open();
          const second = await other.subscribe(keyed(key, 0), newer.handle);
          await until('the takeover', () => second.state().assigned.length > 0, PATIENCE_MS);
          await until(
            'the stand-by',
            () => first.state().assigned.length === 0 && first.state().joined,
            PATIENCE_MS,
          );
          await publishTexts(key, ['to the newer'], 'gc.node.commands');
          await until('the record', () => newer.records.length === 1, PATIENCE_MS);
          await second.stop();
          await until('the return', () => first.state().assigned.length > 0, PATIENCE_MS);
          await publishTexts(key, ['to the older'], 'gc.node.commands');
          await until('the next record', () => older.texts().includes('to the older'), PATIENCE_MS);
          expect(newer.texts()).toEqual(['to the newer']);
        });
      });
    });

    describe('reading without a group', () => {
      test('from the start to the end, marked when caught up', async () => {
        const key = uniqueKey();
        await publishTexts(key, ['1', '2']);
        const events = [];
        for await (const event of log.read({ topic: 'gc.node.results', from: 'earliest', to: 'end' }))
          events.push(event);
        expect(events.at(-1)).toEqual({ kind: 'caught-up' });
        expect(events.filter((event) => event.kind === 'caught-up')).toHaveLength(1);
        expect((await readAll(log, key)).map(text)).toEqual(['1', '2']);
        expect((await readAll(log, key)).map(text)).toEqual(['1', '2']);
      });

      test('an empty topic is caught up at once', async () => {
        const events = [];
        for await (const event of log.read({ topic: 'gc.policy-versions', from: 'earliest', to: 'end' }))
          events.push(event);
        expect(events).toEqual([{ kind: 'caught-up' }]);
      });

      test('from an offset, and one partition only', async () => {
        const key = uniqueKey();
        const partition = partitionOf('gc.node.results', key);
        await publishTexts(key, ['1', '2', '3']);
        const [, second] = await readAll(log, key);
        const from = { offset: second?.offset ?? -1n };
        expect((await readAll(log, key, { partition, from })).map(text)).toEqual(['2', '3']);
        expect(await readAll(log, key, { partition: (partition + 1) % 32 })).toEqual([]);
      });

      test('from a time of the log', async () => {
        const key = uniqueKey();
        await publishTexts(key, ['1']);
        const [first] = await readAll(log, key);
        await until('a later millisecond', () => Date.now() > (first?.timestampMs ?? 0) + 1);
        await publishTexts(key, ['2']);
        const [, second] = await readAll(log, key);
        const times = [first?.timestampMs ?? 0, second?.timestampMs ?? 0];
        expect((await readAll(log, key, { from: { timestampMs: times[0] ?? 0 } })).map(text)).toEqual([
          '1',
          '2',
        ]);
        expect((await readAll(log, key, { from: { timestampMs: (times[0] ?? 0) + 1 } })).map(text)).toEqual([
          '2',
        ]);
        expect(await readAll(log, key, { from: { timestampMs: (times[1] ?? 0) + 1 } })).toEqual([]);
      });

      test('to the end as it was when reading began; for ever goes on after it, until aborted', async () => {
        const key = uniqueKey();
        await publishTexts(key, ['1']);
        const stop = new AbortController();
        const seen: string[] = [];
        const reading = followKey(log, key, seen, stop.signal);
        await until('the mark', () => seen.includes('caught up'), PATIENCE_MS);
        await publishTexts(key, ['2']);
        await until('the next record', () => seen.includes('2'), PATIENCE_MS);
        stop.abort();
        await within('the end of the reading', reading, 3000);
        expect(seen).toEqual(['1', 'caught up', '2']);
      });

      test('a partition that does not exist is refused', async () => {
        await expect(readAll(log, 'x', { partition: 32 })).rejects.toMatchObject({ code: 'USAGE' });
      });
    });

    describe('sizes', () => {
      test('a record of 4 MiB that does not compress passes', async (context) => {
        const key = uniqueKey();
        const value = randomBytes(4 * MEBIBYTE);
        const seen = collector(key);
        await serve(context, log, subscriptionOf({ start: 'latest' }), seen.handle);
        await log.publish([outgoing({ key, value })]);
        expect((await readAll(log, key))[0]?.value?.equals(value)).toBe(true);
      });

      test('a larger one is refused, unless it compresses', async () => {
        const key = uniqueKey();
        const refused = log.publish([outgoing({ key, value: randomBytes(4 * MEBIBYTE + 100_000) })]);
        await expect(refused).rejects.toMatchObject({ code: 'LOG_RECORD_TOO_LARGE', retry: false });
        await log.publish([outgoing({ key, value: Buffer.alloc(12 * MEBIBYTE, 'abc') })]);
        expect((await readAll(log, key)).map((record) => record.value?.length)).toEqual([12 * MEBIBYTE]);
      });

      test('a publish of many records passes whole and in order', async () => {
        const key = uniqueKey();
        const values = Array.from({ length: 600 }, (_, index) =>
          Buffer.concat([Buffer.from(`${index} `), randomBytes(5000)]),
        );
        await log.publish(values.map((value) => outgoing({ key, value })));
        const found = await readAll(log, key);
        expect(found.map((record) => record.value?.toString('latin1').split(' ')[0])).toEqual(
          values.map((_, i) => `${i}`),
        );
      });

      test('an empty publish is nothing', async () => {
        await log.publish([]);
      });
    });

    test('a tombstone is a record without a value; the last of each key is the state', async () => {
      const [a, b] = [uniqueKey(), uniqueKey()];
      const record = (key: string, value: string | null) =>
        outgoing({ topic: 'gc.policies', key, value: value === null ? null : Buffer.from(value) });
      await log.publish([record(a, '1'), record(b, '1'), record(a, '2')]);
      await log.publish([record(b, null)]);
      const state = new Map<string, string>();
      for await (const event of log.read({ topic: 'gc.policies', from: 'earliest', to: 'end' })) {
        if (event.kind === 'record' && event.record.key !== null)
          state.set(event.record.key, text(event.record));
      }
      expect([state.get(a), state.get(b)]).toEqual(['2', '(tombstone)']);
    });

    test('health says connected', () => {
      expect(log.health()).toEqual({ connected: true, problem: null });
    });

    describe('a topic that is deleted and made anew', () => {
      const topic = 'gc.policies';
      const texts = (count: number) => Array.from({ length: count }, (_unused, index) => `${index}`);

      async function recreate(held: number): Promise<void> {
        await subject.deleteTopic(topic);
        const fresh = await open();
        await fresh.createTopics();
        for (const value of texts(held))
          await fresh.publish([outgoing({ topic, key: 'new', value: Buffer.from(value) })]);
      }

      test.for([
        { name: 'empty', held: 0 },
        { name: 'no longer than before', held: 3 },
        { name: 'longer than before', held: 5 },
      ])('$name: a reading for ever ends, so that nothing of it is missed', async ({ held }, context) => {
        await recreate(0);
        await publishTexts('old', texts(3), topic);
        const stop = new AbortController();
        context.onTestFinished(() => stop.abort());
        const seen: string[] = [];
        const reading = followTopic(log, topic, seen, stop.signal);
        const ended = expect(within('the end of the reading', reading, PATIENCE_MS)).rejects.toMatchObject({
          code: 'TOPICS_RECREATED',
          retry: true,
          message: expect.stringContaining(topic),
        });
        await until('what there was', () => seen.length === 4, PATIENCE_MS);
        await recreate(held);
        await ended;
        expect(seen).toEqual([...texts(3), 'caught up']);
      });

      test('members go on with what it holds then', async (context) => {
        await recreate(0);
        await publishTexts('old', texts(3), topic);
        const seen = collector('new');
        const spec = subscriptionOf({ topics: [topic], start: 'earliest' });
        const member = await serve(context, log, spec, seen.handle);
        await until(
          'the old records to be done',
          () => member.state().lag.get(`${topic}/0`) === 0,
          PATIENCE_MS,
        );
        await recreate(2);
        await until('the new records', () => seen.records.length === 2, PATIENCE_MS);
        expect(seen.texts()).toEqual(texts(2));
        await until('no problem', () => member.state().problem === null, PATIENCE_MS);
      });
    });

    /** Last: it leaves the topic as no start accepts it. */
    test('partitions added behind our back change nothing for who runs, are reported, and refused at a start', async (context) => {
      const topic = 'gc.dead-letters';
      const key = uniqueKey();
      const seen = collector(key);
      const running = await serve(context, log, subscriptionOf({ topics: [topic] }), seen.handle);
      await publishTexts(key, ['before'], topic);
      await until('the first record', () => seen.records.length === 1, PATIENCE_MS);
      await subject.addPartitions(topic, 40);
      await until('the report', async () => (await log.checkTopics()).length > 0, PATIENCE_MS);
      expect(await log.checkTopics()).toEqual([
        expect.objectContaining({
          topic,
          kind: 'partitions',
          expected: '32 partitions',
          found: '40 partitions',
        }),
      ]);
      await publishTexts(key, ['after'], topic);
      await until('the next record', () => seen.texts().includes('after'), PATIENCE_MS);
      await until(
        'the running consumer to say so',
        () => /has 40 partitions, but 32 are declared/.test(running.state().problem ?? ''),
        PATIENCE_MS,
      );
      expect(running.state().assigned).toHaveLength(32);

      const fresh = await open();
      const refused = await fresh.subscribe(subscriptionOf({ topics: [topic] }), async () => undefined);
      await expect(within('the refusal', refused.finished, PATIENCE_MS)).rejects.toMatchObject({
        code: 'TOPICS_DIFFER',
      });
      await expect(readAll(fresh, key, { topic })).rejects.toMatchObject({ code: 'TOPICS_DIFFER' });
      await expect(fresh.publish([outgoing({ topic, key })])).rejects.toMatchObject({
        code: 'TOPICS_DIFFER',
      });
    });
  });
}

function startMember(options: EventLogOptions, group: string): ChildProcess {
  const program = fileURLToPath(new URL('./member-process.ts', import.meta.url));
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

async function followKey(log: EventLog, key: string, seen: string[], signal: AbortSignal): Promise<void> {
  for await (const event of log.read({ topic: 'gc.node.results', from: 'earliest', to: 'forever' }, signal)) {
    if (event.kind === 'caught-up') seen.push('caught up');
    else if (event.record.key === key) seen.push(text(event.record));
  }
}

async function followTopic(
  log: EventLog,
  topic: TopicName,
  seen: string[],
  signal: AbortSignal,
): Promise<void> {
  for await (const event of log.read({ topic, from: 'earliest', to: 'forever' }, signal))
    seen.push(event.kind === 'caught-up' ? 'caught up' : text(event.record));
}

/** A subscription that ends with its test. */
async function serve(
  context: TestContext,
  log: EventLog,
  subscription: Subscription,
  handle: SliceHandler,
): Promise<ActiveSubscription> {
  const active = await log.subscribe(subscription, handle);
  context.onTestFinished(() => active.stop());
  return active;
}
