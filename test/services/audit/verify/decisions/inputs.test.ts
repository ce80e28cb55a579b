import { expect, test } from 'vitest';
import { nodeOutput } from '../../../../../packages/decision/handler.ts';
import type { LogRecord, ReadEvent, ReadRequest } from '../../../../../packages/event-log/port.ts';
import { TOPICS } from '../../../../../schemas/events/topics.ts';
import { Inputs } from '../../../../../services/audit/verify/decisions/inputs.ts';
import { diskStats } from '../../../../fixtures/disk-stats.ts';
import { recordOf } from '../../../../support/logs/log-record.ts';

const TOPIC = TOPICS.diskStats.name;
const running = new AbortController().signal;
const message = (offset: number): LogRecord =>
  recordOf(nodeOutput('diskStats', diskStats({}, { id: `stats-${offset}` })), { offset: BigInt(offset) });
const at = (offset: number | string, over = {}) => ({
  topic: TOPIC,
  partition: 0,
  offset: `${offset}`,
  ...over,
});
const BYTES = message(10).value?.length ?? 0;

/** A log that holds the messages from 10 to 19, or to before another end, and tells how often it was read. */
function tenMessages(end = 20) {
  const requests: ReadRequest[] = [];
  const read = async function* (request: ReadRequest): AsyncGenerator<ReadEvent, void> {
    requests.push(request);
    const from =
      typeof request.from === 'object' && 'offset' in request.from ? Number(request.from.offset) : 0;
    for (let offset = Math.max(10, from); offset < end; offset++)
      yield { kind: 'record', record: message(offset) };
    yield { kind: 'caught-up' };
  };
  return { log: { read }, requests };
}

test('what came by is at hand, up to so many bytes; older ones are read once more', async () => {
  const { log, requests } = tenMessages();
  const inputs = new Inputs(log, 0, { signal: running, keptBytes: 3 * BYTES });
  const records = [10, 11, 12, 13, 14].map(message);
  for (const record of records) inputs.keep(record);

  for (const offset of [12, 13, 14]) expect(await inputs.find(at(offset))).toBe(records[offset - 10]);
  expect(requests).toEqual([]);
  expect(await inputs.find(at(11))).toEqual(message(11));
  expect(requests).not.toEqual([]);
});

test('messages that are looked up in their order are read in one go', async () => {
  const { log, requests } = tenMessages();
  const inputs = new Inputs(log, 0, { signal: running });
  for (const offset of [11, 12, 15, 19]) expect(await inputs.find(at(offset))).toEqual(message(offset));

  // The oldest one is asked for before.
  expect(requests.map(({ from }) => from)).toEqual(['earliest', { offset: 11n }]);
  await inputs.close();
});

test('of two that are asked for in turn, one behind the other, what lies between is read once', async () => {
  const { log, requests } = tenMessages();
  const inputs = new Inputs(log, 0, { signal: running });
  for (const offset of [11, 17, 12, 17, 13, 17])
    expect(await inputs.find(at(offset))).toEqual(message(offset));

  expect(requests.map(({ from }) => from)).toEqual(['earliest', { offset: 11n }]);
  await inputs.close();
});

test('messages and newer ones that lie far behind them are each read in one go', async () => {
  const { log, requests } = tenMessages(1250);
  const inputs = new Inputs(log, 0, { signal: running });
  for (const offset of [10, 1200, 11, 1201, 100, 1240])
    expect(await inputs.find(at(offset))).toEqual(message(offset));

  expect(requests.map(({ from }) => from)).toEqual(['earliest', { offset: 10n }, { offset: 1200n }]);
  await inputs.close();
});

test('whether anything lies behind a place is told, though nothing lies there', async () => {
  const { log } = tenMessages();
  const inputs = new Inputs(log, 0, { signal: running });

  expect(await inputs.hasLater(at(18))).toBe(true);
  expect(await inputs.hasLater(at(19))).toBe(false);
});

test.each([
  { name: 'before the oldest one', input: at(9) },
  { name: 'behind the newest one', input: at(20) },
  { name: 'in another partition', input: at(12, { partition: 1 }) },
  { name: 'on a topic that nobody decides on', input: at(12, { topic: TOPICS.commands.name }) },
  { name: 'at what is no offset', input: at('1e1') },
])('there is no message $name', async ({ input }) => {
  expect(await new Inputs(tenMessages().log, 0, { signal: running }).find(input)).toBeNull();
});
