import { expect, test } from 'vitest';
import type { EventLog } from '../../../../packages/log/port.ts';
import { TOPICS, type TopicName } from '../../../../schemas/events/topics.ts';
import { collector, outgoing, readAll, subscriptionOf, text, uniqueKey, until, within } from '../probe.ts';
import { PATIENCE_MS, serve, type TriedLog } from './subject.ts';

/** Runs before the topics exist. */
export function missingTopicsContract(tried: () => TriedLog): void {
  test('without topics: publishing says that they are missing, subscribing waits for them', async (context) => {
    const { log, publishTexts } = tried();
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
}

export function recreatedTopicContract(tried: () => TriedLog): void {
  const topic = 'gc.policies';
  const texts = (count: number) => Array.from({ length: count }, (_unused, index) => `${index}`);

  async function recreate(held: number): Promise<void> {
    const { subject, open } = tried();
    await subject.deleteTopic(topic);
    const fresh = await open();
    await fresh.createTopics();
    // At once, so that whoever comes back meets all of it.
    const records = texts(held).map((value) => outgoing({ topic, key: 'new', value: Buffer.from(value) }));
    if (records.length > 0) await fresh.publish(records);
  }

  test.for([
    { name: 'empty', held: 0 },
    { name: 'no longer than before', held: 3 },
    { name: 'longer than before', held: 5 },
  ])('$name: a reading for ever ends, so that nothing of it is missed', async ({ held }, context) => {
    const { log, publishTexts } = tried();
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
    const { log, publishTexts } = tried();
    await recreate(0);
    await publishTexts('old', texts(3), topic);
    const seen = collector('new');
    const spec = subscriptionOf({ topics: [topic], start: 'earliest' });
    const member = await serve(context, log, spec, seen.handle);
    await until('the old records to be done', () => member.state().lag.get(`${topic}/0`) === 0, PATIENCE_MS);
    await recreate(2);
    await until('the new records', () => seen.records.length === 2, PATIENCE_MS);
    expect(seen.texts()).toEqual(texts(2));
    await until('no problem', () => member.state().problem === null, PATIENCE_MS);
  });

  test('members miss nothing of it, however far it has grown', async (context) => {
    const { log, publishTexts } = tried();
    await recreate(0);
    await publishTexts('old', texts(3), topic);
    const seen = collector('new');
    const spec = subscriptionOf({ topics: [topic], start: 'earliest' });
    const member = await serve(context, log, spec, seen.handle);
    await until('the old records to be done', () => member.state().lag.get(`${topic}/0`) === 0, PATIENCE_MS);
    await recreate(5);
    await until('the new records', () => new Set(seen.texts()).size === 5, PATIENCE_MS);
    expect(seen.texts().slice(0, 5)).toEqual(texts(5));
    await until('no problem', () => member.state().problem === null, PATIENCE_MS);
  });

  test.for([2, 5])('a group that was away meanwhile misses none of its %i records', async (held, context) => {
    const { log, publishTexts } = tried();
    await recreate(0);
    await publishTexts('old', texts(3), topic);
    const spec = subscriptionOf({ topics: [topic], start: 'earliest' });
    const before = await serve(context, log, spec, async () => undefined);
    await until('the old records to be done', () => before.state().lag.get(`${topic}/0`) === 0, PATIENCE_MS);
    await before.stop();
    await recreate(held);
    const seen = collector('new');
    const member = await serve(context, log, spec, seen.handle);
    await until('the new records', () => seen.texts().length === held, PATIENCE_MS);
    expect(seen.texts()).toEqual(texts(held));
    await until('no problem', () => member.state().problem === null, PATIENCE_MS);
  });

  test('who reads for one key misses nothing of it, however far it has grown', async (context) => {
    const { log, publishTexts } = tried();
    await recreate(0);
    await publishTexts('new', texts(3), topic);
    const seen = collector('new');
    const assignment = { kind: 'key', key: 'new', lookBackMs: 60_000 } as const;
    const member = await serve(context, log, subscriptionOf({ topics: [topic], assignment }), seen.handle);
    await until('the old records', () => seen.records.length === 3, PATIENCE_MS);
    await recreate(5);
    await until('the new records', () => new Set(seen.texts()).size === 5, PATIENCE_MS);
    expect(seen.texts().slice(3, 8)).toEqual(texts(5));
    await until('no problem', () => member.state().problem === null, PATIENCE_MS);
  });
}

/** Last: it leaves the topic as no start accepts it. */
export function grownTopicContract(tried: () => TriedLog): void {
  test('partitions added behind our back change nothing for who runs, are reported, and refused at a start', async (context) => {
    const { log, open, publishTexts, subject } = tried();
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
    const assignment = { kind: 'key', key, lookBackMs: 0 } as const;
    const keyed = await fresh.subscribe(
      subscriptionOf({ topics: [topic], assignment }),
      async () => undefined,
    );
    await expect(within('the other refusal', keyed.finished, PATIENCE_MS)).rejects.toMatchObject({
      code: 'TOPICS_DIFFER',
    });
    await expect(readAll(fresh, key, { topic })).rejects.toMatchObject({ code: 'TOPICS_DIFFER' });
    await expect(fresh.publish([outgoing({ topic, key })])).rejects.toMatchObject({
      code: 'TOPICS_DIFFER',
    });
  });
}

async function followTopic(
  log: EventLog,
  topic: TopicName,
  seen: string[],
  signal: AbortSignal,
): Promise<void> {
  for await (const event of log.read({ topic, from: 'earliest', to: 'forever' }, signal))
    if (event.kind === 'record') seen.push(text(event.record));
    else if (event.kind === 'caught-up') seen.push('caught up');
}
