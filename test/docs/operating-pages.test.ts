import { expect, test } from 'vitest';
import { parseLocalRules } from '../../services/node/executor/local-rules.ts';
import { textOf, verbNamed } from '../deploy/files.ts';
import { type MetricInCode, metricsInCode } from '../deploy/metrics-in-code.ts';
import { codeBlocks, tableRows } from './markdown.ts';

const install = textOf('docs/operating/install.md');
const stopAndUpgrade = textOf('docs/operating/stop-and-upgrade.md');

test('the default port of each verb', () => {
  for (const [verb = '', , port] of tableRows(install, 'verb')) {
    const standard = verbNamed(verb).options.find(({ key }) => key === 'httpAddress')?.default;
    expect(`${verb} ${standard}`).toBe(`${verb} 127.0.0.1:${port}`);
  }
});

test('the name of a metric tells its kind and its unit, as Prometheus wants it', () => {
  const metrics = metricsInCode();
  const isCounter = ({ kind }: MetricInCode): boolean => ['count', 'total', 'occurrences'].includes(kind);
  expect(metrics.filter((metric) => isCounter(metric) !== metric.name.endsWith('_total'))).toEqual([]);
  expect(metrics.filter(({ kind, name }) => kind === 'distribution' && !name.endsWith('_seconds'))).toEqual(
    [],
  );
  const unusual =
    /^(?!(?:fleetgc|process)_[a-z]+(_[a-z]+)*$)|_(count|sum|bucket|info_total)$|_(ms|milliseconds|minutes|kb|kib|mb|mib|megabytes|percent)(_|$)/;
  expect(metrics.filter(({ name }) => unusual.test(name))).toEqual([]);
});

test.each(codeBlocks(stopAndUpgrade, 'yaml'))('the example of a node is understood: %s', (yaml) => {
  expect(parseLocalRules('node.yaml', yaml)).toMatchObject({ kind: 'rules' });
});
