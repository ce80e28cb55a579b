import { expect, test } from 'vitest';
import { addProcessMetrics, createMetrics } from '../../../packages/process/metrics.ts';

const linesOf = async (metrics: ReturnType<typeof createMetrics>): Promise<readonly string[]> =>
  (await metrics.text()).split('\n').filter((line) => line !== '' && !line.startsWith('#'));

test('a count is there at zero for every set of labels', async () => {
  const metrics = createMetrics();
  const letters = metrics.count('letters_total', 'Letters.', { cause: ['a', 'b'], way: ['in'] });
  letters.add({ cause: 'a', way: 'in' });
  letters.add({ cause: 'a', way: 'in' }, 4);
  expect(await linesOf(metrics)).toEqual([
    'fleetgc_letters_total{cause="a",way="in"} 5',
    'fleetgc_letters_total{cause="b",way="in"} 0',
  ]);
});

test('a distribution counts in seconds', async () => {
  const metrics = createMetrics();
  metrics.distribution('wait_seconds', 'Waits.', { outcome: ['done'] }).observe({ outcome: 'done' }, 0.02);
  const lines = await linesOf(metrics);
  expect(lines).toContain('fleetgc_wait_seconds_bucket{le="0.01",outcome="done"} 0');
  expect(lines).toContain('fleetgc_wait_seconds_bucket{le="0.025",outcome="done"} 1');
  expect(lines).toContain('fleetgc_wait_seconds_sum{outcome="done"} 0.02');
});

test('a gauge is read when it is asked for, and forgets what is no more', async () => {
  const metrics = createMetrics();
  const lag = new Map([['0', 7]]);
  metrics.gauge('lag', 'Lag.', ['partition'], () =>
    [...lag].map(([partition, value]) => [{ partition }, value]),
  );
  expect(await linesOf(metrics)).toEqual(['fleetgc_lag{partition="0"} 7']);
  lag.delete('0');
  lag.set('1', 2);
  expect(await linesOf(metrics)).toEqual(['fleetgc_lag{partition="1"} 2']);
});

test('a gauge without labels is not there while nobody has its value', async () => {
  const metrics = createMetrics();
  let values = [3];
  metrics.gauge('end', 'End.', [], () => values.map((value) => [{}, value]));
  expect(await linesOf(metrics)).toEqual(['fleetgc_end 3']);
  values = [];
  expect(await linesOf(metrics)).toEqual([]);
  values = [4];
  expect(await linesOf(metrics)).toEqual(['fleetgc_end 4']);
});

test('the process says what it is and what it costs', async () => {
  const metrics = createMetrics();
  addProcessMetrics(metrics, { service: 'image-gc', version: '1.2.3' });
  expect(await linesOf(metrics)).toEqual([
    `fleetgc_build_info{service="image-gc",version="1.2.3",node_version="${process.version}"} 1`,
    expect.stringMatching(/^process_start_time_seconds \d+/),
    expect.stringMatching(/^process_cpu_seconds_total \d/),
    expect.stringMatching(/^process_resident_memory_bytes \d+$/),
  ]);
});

test('what only grows is a counter, read when it is asked for, by each who shares it', async () => {
  const metrics = createMetrics();
  let seconds = 1.5;
  for (const part of ['a', 'b'])
    metrics.total('work_seconds_total', 'Work.', ['part'], () => [[{ part }, seconds]]);
  await metrics.text();
  seconds = 2;

  expect(await metrics.text()).toContain('# TYPE fleetgc_work_seconds_total counter');
  expect(await linesOf(metrics)).toEqual([
    'fleetgc_work_seconds_total{part="a"} 2',
    'fleetgc_work_seconds_total{part="b"} 2',
  ]);
});

test('every name has the prefix', async () => {
  const metrics = createMetrics();
  metrics.count('x_total', 'X.', {});
  expect(await linesOf(metrics)).toEqual(['fleetgc_x_total 0']);
});

test('the same name is the same metric, whoever asks for it', async () => {
  const metrics = createMetrics();
  for (const consumer of ['a', 'b']) {
    metrics.count('x_total', 'X.', { consumer: [consumer] }).add({ consumer });
    metrics.distribution('x_seconds', 'X.', { consumer: [consumer] }).observe({ consumer }, 1);
    metrics.gauge('y', 'Y.', ['consumer'], () => [[{ consumer }, 1]]);
  }
  const lines = await linesOf(metrics);
  expect(lines).toContain('fleetgc_x_total{consumer="a"} 1');
  expect(lines).toContain('fleetgc_x_total{consumer="b"} 1');
  expect(lines).toContain('fleetgc_y{consumer="a"} 1');
  expect(lines).toContain('fleetgc_y{consumer="b"} 1');
});
