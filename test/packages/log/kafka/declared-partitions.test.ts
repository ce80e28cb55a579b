import { expect, test } from 'vitest';
import { watchPartitions } from '../../../../packages/log/kafka/topics.ts';
import { TOPICS, type TopicName } from '../../../../schemas/events/topics.ts';

const TOPIC = TOPICS.commands.name;
const DECLARED: number = TOPICS.commands.partitions;

/** Looks once for each of these answers, a broker that fails to answer among them, and gives what was told. */
async function looks(partitions: readonly (number | 'no answer')[]) {
  const over = new AbortController();
  const reported: [TopicName, string | null][] = [];
  const waits: number[] = [];
  let [look, known] = [-1, DECLARED];
  await watchPartitions(
    {
      prefix: '',
      cluster: {
        refreshMetadata: async () => {
          const answer = partitions[look];
          if (answer === 'no answer') throw new Error('connection refused');
          known = answer ?? known;
        },
        findTopicPartitionMetadata: () =>
          Array.from({ length: known }, (_, partitionId) => ({
            partitionId,
            partitionErrorCode: 0,
            leader: 1,
            replicas: [],
            isr: [],
          })),
      },
      topics: [TOPIC],
      random: () => 0.5,
      wait: async (ms) => {
        waits.push(ms);
        look += 1;
        if (look === partitions.length) over.abort();
      },
      report: (topic, problem) => reported.push([topic, problem]),
    },
    over.signal,
  );
  return { reported, waits };
}

test('partitions that were added behind our back are told, and no more when they are as declared', async () => {
  const { reported, waits } = await looks([DECLARED, DECLARED + 1, DECLARED]);

  expect(reported).toEqual([
    [TOPIC, null],
    [TOPIC, expect.stringContaining(`has ${DECLARED + 1} partitions, but ${DECLARED} are declared`)],
    [TOPIC, null],
  ]);
  expect(waits).toEqual([60_000, 60_000, 60_000, 60_000]);
});

test('a topic that is gone is told; a broker that does not answer changes nothing of what was told', async () => {
  const { reported } = await looks([0, 'no answer', DECLARED]);

  expect(reported.map(([, problem]) => problem)).toEqual([
    expect.stringContaining('is missing'),
    expect.stringContaining('is missing'),
    null,
  ]);
});

test('a reader that has ended is told nothing', async () => {
  expect((await looks([])).reported).toEqual([]);
});
