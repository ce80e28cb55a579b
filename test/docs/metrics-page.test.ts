import { expect, test } from 'vitest';
import type { OutgoingRecord } from '../../packages/log/port.ts';
import { createMetrics } from '../../packages/process/metrics.ts';
import { systemSources } from '../../packages/process/system-sources.ts';
import { consumerMetrics } from '../../packages/records/consumer-metrics.ts';
import { createDeadLetters } from '../../packages/records/dead-letters/dead-letters.ts';
import { createPublisher } from '../../packages/records/publisher.ts';
import { publishingReadable } from '../../packages/records/readable-facts.ts';
import { UNSIGNED } from '../../packages/records/trust/signer.ts';
import { DISTRUST_CAUSES, SIGNED_TOPICS } from '../../packages/records/trust/trust.ts';
import { decisionMetrics } from '../../packages/service/decision-writing.ts';
import { ClusterVerdict } from '../../schemas/events/cluster-decision.ts';
import { ClusterFailure, ClusterObjectRefusal } from '../../schemas/events/cluster-result.ts';
import { AnyDeciderName } from '../../schemas/events/deciders.ts';
import { Verdict } from '../../schemas/events/decision.ts';
import { ObjectRefusal, RemovalFailure } from '../../schemas/events/result.ts';
import { TOPICS } from '../../schemas/events/topics.ts';
import { EvictionSignal } from '../../schemas/policy/eviction.ts';
import { tellWatchEnds } from '../../services/cluster/agent/metrics.ts';
import { createExecutorMetrics as clusterExecutorMetrics } from '../../services/cluster/executor/metrics.ts';
import { ControllerMetrics } from '../../services/cluster/policy-controller/main.ts';
import { agentMetrics } from '../../services/node/agent/metrics.ts';
import { createExecutorMetrics } from '../../services/node/executor/metrics.ts';
import { laneMetrics } from '../../services/notices/metrics.ts';
import { textOf } from '../deploy/files.ts';
import { metricsInCode } from '../deploy/metrics-in-code.ts';
import { countedIds } from '../support/logs/log-record.ts';
import { madeUpPositions } from '../support/logs/made-up-positions.ts';
import { SILENT } from '../support/silent.ts';
import { tableRows } from './markdown.ts';
import { rows, sections, told } from './told-metrics.ts';

/** What there is at zero, by metric and label. */
async function valuesInCode(): Promise<ReadonlyMap<string, readonly string[]>> {
  const metrics = createMetrics();
  createExecutorMetrics(metrics);
  clusterExecutorMetrics(metrics);
  agentMetrics(metrics);
  publishingReadable({ ids: countedIds(), records: () => [], send: async () => undefined }, metrics);
  tellWatchEnds(metrics, SILENT);
  laneMetrics(metrics, 'pager');
  new ControllerMetrics({ metrics, sources: { ...systemSources } });
  consumerMetrics(metrics, 'node', [TOPICS.commands.name]);
  for (const decider of AnyDeciderName.options) decisionMetrics(metrics, decider, () => 0);
  const now = () => 0;
  const writing = {
    source: '/test',
    now,
    ids: countedIds(),
    signer: UNSIGNED,
    log: { publish: async (records: readonly OutgoingRecord[]) => madeUpPositions(records) },
  };
  createDeadLetters({ publisher: createPublisher(writing), group: 'g', metrics, logger: SILENT, now });
  const series = [...(await metrics.text()).matchAll(/^([a-z_]+)\{(.*)\} /gm)];
  const labels = series.flatMap(([, name = '', pairs = '']) =>
    [...pairs.matchAll(/([a-z_]+)="([^"]*)"/g)].map(([, label = '', value = '']) => ({
      of: `${name} ${label}`,
      value,
    })),
  );
  return new Map(
    [...Map.groupBy(labels, ({ of }) => of)].map(([of, each]) => [
      of,
      [...new Set(each.map(({ value }) => value))],
    ]),
  );
}

const TYPES: Readonly<Record<string, string>> = {
  count: 'counter',
  total: 'counter',
  occurrences: 'counter',
  gauge: 'gauge',
  distribution: 'histogram',
};

test('the metrics are those that the code has, with their types', () => {
  const inPage = rows.map(({ name, type }) => `${name} ${type}`);
  const inCode = metricsInCode().map(({ name, kind }) => `${name} ${TYPES[kind]}`);
  expect(inPage.toSorted()).toEqual(inCode.toSorted());
});

test('the labels of counts have the values that the code has', async () => {
  const inCode = [...(await valuesInCode())].filter(([of]) => !/ (consumer|topic|receiver)$/.test(of));
  expect(inCode.length).toBeGreaterThan(20);
  for (const [of, values] of inCode) expect([of, told.get(of)?.toSorted()]).toEqual([of, values.toSorted()]);
});

test('so have those that are there once they occurred', () => {
  const sets: Readonly<Record<string, readonly string[]>> = {
    'fleetgc_objects_judged_total action': [
      ...Verdict.shape.action.options,
      ...ClusterVerdict.shape.action.options,
    ],
    'fleetgc_executor_objects_not_removed_total reason': [
      ...ObjectRefusal.options,
      ...RemovalFailure.options,
    ],
    'fleetgc_cluster_executor_objects_not_done_total reason': [
      ...ClusterObjectRefusal.options,
      ...ClusterFailure.options,
    ],
    'fleetgc_reclaims_total signal': [
      'imageGC',
      'imageGCAvailable',
      'imageGCInodes',
      ...EvictionSignal.options,
    ],
  };
  for (const [of, values] of Object.entries(sets))
    expect([of, told.get(of)?.toSorted()]).toEqual([of, [...new Set(values)].toSorted()]);
});

test('every label of a metric has its values', () => {
  const without = ['topic', 'partition', 'rule', 'receiver', 'key_id', 'service', 'version', 'node_version'];
  const labels = rows.flatMap(({ name, labels }) =>
    labels.map((label) => ({ label, of: `${name} ${label}` })),
  );
  expect(labels.filter(({ label, of }) => !without.includes(label) && !told.has(of))).toEqual([]);
  expect([...told.keys()].filter((of) => !labels.some((label) => label.of === of))).toEqual([]);
});

test('messages that are not believed are counted by topics that are signed, and by cause', () => {
  const causes = told.get('fleetgc_distrusted_messages_total cause');
  const { series } = rows.find(({ name }) => name === 'fleetgc_distrusted_messages_total') ?? {};
  expect(causes).toEqual(DISTRUST_CAUSES);
  expect(series).toBe(SIGNED_TOPICS.length * DISTRUST_CAUSES.length);
});

/** Buckets, the sum and the count. */
const OF_A_HISTOGRAM = 18;
/** Not every value of one goes with every value of another. */
const NOT_A_PRODUCT = [
  'fleetgc_decisions_total',
  'fleetgc_executor_objects_not_removed_total',
  'fleetgc_cluster_executor_objects_not_done_total',
];

test('a metric makes as many series as its labels have values', () => {
  const bounded = rows.filter(
    ({ name, labels }) =>
      !NOT_A_PRODUCT.includes(name) && !labels.some((label) => ['rule', 'partition'].includes(label)),
  );
  const perProcess = [
    'consumer',
    'receiver',
    'decider',
    'topic',
    'key_id',
    'service',
    'version',
    'node_version',
  ];
  const archived = (name: string): number =>
    name.startsWith('fleetgc_archive') ? Object.keys(TOPICS).length : 1;
  for (const { name, type, labels, series } of bounded.filter(
    ({ name }) => name !== 'fleetgc_distrusted_messages_total',
  )) {
    const sets = labels
      .filter((label) => !perProcess.includes(label))
      .reduce((product, label) => product * (told.get(`${name} ${label}`)?.length ?? 0), archived(name));
    expect(`${name} ${series}`).toBe(`${name} ${sets * (type === 'histogram' ? OF_A_HISTOGRAM : 1)}`);
  }
});

const sum = (numbers: readonly number[]): number => numbers.reduce((a, b) => a + b, 0);
function seriesOf(heading: string): number {
  const section = sections.get(heading) ?? [];
  expect(section.length, heading).toBeGreaterThan(0);
  return sum(
    section.filter(({ name }) => name !== 'fleetgc_distrusted_messages_total').map(({ series }) => series),
  );
}
const PARTITIONS = 32;

test('the fleet makes as many series as its processes', () => {
  const every = seriesOf('Every process');
  const consumer = seriesOf('Each consumer');
  const shared = seriesOf('Each topic of a consumer');
  const one = shared - PARTITIONS + 1;
  const replica = seriesOf('Each replica of an agent or executor of a cluster');
  const deciders = AnyDeciderName.options.length;
  const state = seriesOf('Each process with a state directory');
  const agent = seriesOf('Each agent');
  const ofProcess: Readonly<Record<string, number>> = {
    node:
      every +
      state +
      agent +
      consumer +
      2 * one +
      seriesOf('The agent of a node') +
      seriesOf('The executor of a node'),
    decide:
      every +
      deciders * (consumer + seriesOf('Each decision service')) +
      (deciders + 2) * shared +
      seriesOf('Decision services by name'),
    'cluster agent': every + agent + replica + seriesOf('The agent of a cluster'),
    'cluster executor': every + state + replica + consumer + one + seriesOf('The executor of a cluster'),
    'audit archive': every + seriesOf('The archiver'),
  };
  const number = (text = ''): number => Number(text.replaceAll(',', ''));
  const fleet = tableRows(textOf('docs/operating/metrics.md'), 'process');
  const processes = fleet.filter(([name]) => name !== 'all');
  expect(Object.fromEntries(processes.map(([name, series]) => [name, number(series)]))).toEqual(ofProcess);
  for (const [, series, count, together] of processes)
    expect(number(together)).toBe(number(series) * number(count));
  expect(number(fleet.at(-1)?.[3])).toBe(sum(processes.map(([, , , together]) => number(together))));
});
