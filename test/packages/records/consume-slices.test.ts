import { describe, expect, test } from 'vitest';
import { consumer, decide, message, unreachable } from './consumer-under-test.ts';

describe('a slice', () => {
  test('publishes stage by stage, all its messages together', async () => {
    const { log, published } = await consumer();
    await log.deliver([message('a'), message('b'), message('c')]);
    expect(published()).toEqual([
      ['decision-of-a', 'decision-of-b', 'decision-of-c'],
      ['observe-of-a', 'observe-of-b', 'observe-of-c'],
    ]);
  });

  test('sends no order when its record was not acknowledged, and is not acknowledged itself', async () => {
    const { log, published } = await consumer();
    log.beforePublish = () => {
      throw unreachable();
    };
    await expect(log.deliver([message('a')])).rejects.toMatchObject({ code: 'LOG_UNREACHABLE', retry: true });
    expect(published()).toEqual([]);
  });

  test('is not acknowledged when the order was not', async () => {
    const { log, published } = await consumer();
    log.beforePublish = (records) => {
      if (records.some(({ topic }) => topic === 'gc.node.observe')) throw unreachable();
    };
    await expect(log.deliver([message('a')])).rejects.toMatchObject({ code: 'LOG_UNREACHABLE' });
    expect(published()).toEqual([['decision-of-a']]);
  });

  test('of a partition that was lost publishes nothing, and handles no further message', async () => {
    const lost = new AbortController();
    const handled: string[] = [];
    const { log } = await consumer({}, (input) => {
      handled.push(input.event.id);
      if (input.event.id === 'last') lost.abort();
      return decide(input);
    });
    await log.deliver([message('a')], AbortSignal.abort());
    expect(handled).toEqual([]);
    await log.deliver([message('b'), message('last')], lost.signal);
    await log.deliver([message('c')], lost.signal);
    expect(handled).toEqual(['b', 'last']);
    expect(log.published).toEqual([]);
  });

  describe('slices of several partitions', () => {
    /** Each message takes 10 ms. */
    async function slow(onHandled: (id: string) => void = () => undefined) {
      const order: string[] = [];
      const started = await consumer({}, (input) => {
        started.clock.nowMs += 10;
        order.push(input.event.id);
        onHandled(input.event.id);
        return decide(input);
      });
      started.log.beforePublish = () => void order.push('published');
      const deliver = (signals: readonly AbortSignal[]) =>
        Promise.all(
          signals.map((signal, partition) =>
            started.log.deliver(
              [1, 2, 3].map((number) => message(`${partition}-${number}`, {}, { partition })),
              signal,
            ),
          ),
        );
      return { order, deliver, log: started.log };
    }
    const signal = new AbortController().signal;

    test('are decided one after another: the first is published before the last is decided', async () => {
      const { order, deliver } = await slow();
      await deliver([signal, signal, signal]);
      expect(order.filter((what) => what !== 'published')).toEqual(
        [0, 1, 2].flatMap((partition) => [1, 2, 3].map((number) => `${partition}-${number}`)),
      );
      expect(order.indexOf('published')).toBeLessThan(order.indexOf('2-1'));
    });

    test('of a partition with a backlog let another go first, each time', async () => {
      const { log, order } = await slow();
      const slice = (name: string, partition: number) =>
        log.deliver([1, 2].map((number) => message(`${name}-${number}`, {}, { partition })));
      const backlog = async (partition: number) => {
        for (const turn of [1, 2, 3]) await slice(`${partition}-${turn}`, partition);
      };
      await Promise.all([backlog(0), backlog(1), slice('quiet', 2)]);
      const turns = order.filter((what) => what.endsWith('-1') && what !== 'published');
      expect(turns).toEqual(['0-1-1', '1-1-1', 'quiet-1', '0-2-1', '1-2-1', '0-3-1', '1-3-1']);
    });

    test('go on while what follows from one cannot be published', async () => {
      const { log, order } = await slow();
      const publish = log.publish.bind(log);
      log.publish = (records) =>
        records.some(({ headers }) => headers.ce_id?.endsWith('of-stuck'))
          ? new Promise(() => undefined)
          : publish(records);
      void log.deliver([message('stuck')]);
      await log.deliver([message('other', {}, { partition: 1 })]);
      expect(order).toEqual(['stuck', 'other', 'published', 'published']);
    });

    test('let heartbeats out in between, however much there is to decide', async () => {
      const beats: string[] = [];
      let beatsBeforeLast: readonly string[] = [];
      const { deliver } = await slow((id) => {
        if (id === '1-3') beatsBeforeLast = [...beats];
        else setImmediate(() => beats.push(id));
      });
      await deliver([signal, signal]);
      expect(beatsBeforeLast).toEqual(['0-1', '0-2', '0-3', '1-1', '1-2']);
    });

    test('one that is lost while it waits is not decided', async () => {
      const lost = new AbortController();
      const { order, deliver } = await slow(() => lost.abort());
      await deliver([signal, lost.signal]);
      expect(order.filter((what) => what.startsWith('1-'))).toEqual([]);
    });

    test('one that fails holds up no other', async () => {
      const { log, published } = await consumer({}, (input) => {
        if (input.event.id === 'bad') throw unreachable();
        return decide(input);
      });
      const failing = expect(log.deliver([message('bad')])).rejects.toMatchObject({
        code: 'LOG_UNREACHABLE',
      });
      await log.deliver([message('good', {}, { partition: 1 })]);
      await failing;
      expect(published()).toEqual([['decision-of-good'], ['observe-of-good']]);
    });
  });
});
