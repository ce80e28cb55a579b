import { describe, expect, test } from 'vitest';
import type { LogRecord } from '../../../packages/log/port.ts';
import { NODE } from '../../fixtures/inventory.ts';
import { consumer, garbage, message, unreachable } from './consumer-under-test.ts';

describe('a slice read for one key', () => {
  const key = `${NODE.cluster}/${NODE.node}`;
  const forOneKey = () => consumer({ assignment: { kind: 'key', key, lookBackMs: 0 } });

  test('leaves the others alone, bad ones included', async () => {
    const { log, metrics, published } = await forOneKey();
    await log.deliver([
      message('other', { node: 'web-2' }, { key: 'prod/web-2' }),
      garbage('prod/web-3'),
      message('of a name like ours', { node: `${NODE.node}0` }, { key: `${key}0` }),
      message('of another that is not its own', { node: 'web-2' }, { key: 'prod/web-3' }),
      message('about this one', {}, { key: 'prod/web-2' }),
      { ...message('deleted'), key: 'prod/web-4', value: null },
      message('own'),
    ]);
    expect(published()).toEqual([['decision-of-own'], ['observe-of-own']]);
    expect(await metrics.text()).toContain('fleetgc_events_of_other_keys_total{consumer="test"} 6');
    await log.deliver([garbage(key)]);
    expect(published().flat()).toHaveLength(3);
  });

  test.each<{ name: string; record: LogRecord; cause: string }>([
    { name: 'without a key', record: { ...message('none'), key: null }, cause: 'key-mismatch' },
    {
      name: 'without a key or a value',
      record: { ...message('x'), key: null, value: null },
      cause: 'key-mismatch',
    },
    { name: 'with a key that names no node', record: garbage('!'), cause: 'key-mismatch' },
    {
      name: 'in the place of a batch that cannot be read',
      record: { ...message('x'), key: null, value: Buffer.alloc(0), unreadable: 'it becomes too large' },
      cause: 'unreadable-batch',
    },
    {
      name: 'with a key of three parts',
      record: message('x', {}, { key: `${key}/x` }),
      cause: 'key-mismatch',
    },
  ])('a record $name becomes a dead letter, and is not handled', async ({ record, cause }) => {
    const { log, metrics, published, deadCauses } = await forOneKey();
    await log.deliver([record, message('own')]);
    expect(deadCauses()).toEqual([cause]);
    expect(published().slice(0, 2)).toEqual([['decision-of-own'], ['observe-of-own']]);
    expect(await metrics.text()).toContain('fleetgc_events_of_other_keys_total{consumer="test"} 0');
  });

  test('of such records ten in a minute are kept whole in all, whatever their keys, and they never pause the consumer', async () => {
    const { log, running, published, deadCauses } = await forOneKey();
    await log.deliver(Array.from({ length: 30 }, () => ({ ...message('none'), key: null })));
    await log.deliver(Array.from({ length: 30 }, (_, index) => garbage(`no-node-${index}`)));
    // And one more of each slice, for the others in it.
    expect(deadCauses()).toHaveLength(10 + 2);
    expect(running.problem()).toBeNull();
    await log.deliver([message('own')]);
    expect(published().slice(-2)).toEqual([['decision-of-own'], ['observe-of-own']]);
  });

  test('its slice comes again while their dead letters cannot be written', async () => {
    const { log, deadCauses } = await forOneKey();
    const nobodys = { ...message('none'), key: null };
    log.beforePublish = () => {
      throw unreachable();
    };
    await expect(log.deliver([nobodys])).rejects.toMatchObject({ code: 'LOG_UNREACHABLE' });
    log.beforePublish = () => undefined;
    await log.deliver([nobodys]);
    expect(deadCauses()).toEqual(['key-mismatch']);
  });
});
