import { expect, test } from 'vitest';
import { grafanaText } from '../../../deploy/monitoring/grafana/dashboard-text.ts';
import { DASHBOARDS, queriesOf } from '../../../deploy/monitoring/grafana/dashboards.ts';
import { textOf } from '../files.ts';
import { metricsInCode } from '../metrics-in-code.ts';
import { metricsIn, recordings, withoutSuffix } from './rule-files.ts';

test.each(DASHBOARDS)('the file of $uid is what npm run dashboards writes', (dashboard) => {
  expect(textOf(`deploy/monitoring/dashboards/${dashboard.uid}.json`)).toBe(grafanaText(dashboard));
});

test('dashboards ask for metrics that the code has, and for what is recorded', () => {
  const known = new Set([
    ...metricsInCode().map(({ name }) => name),
    ...recordings.map(({ record }) => record),
  ]);
  const asked = DASHBOARDS.flatMap(queriesOf).flatMap(metricsIn);
  expect(asked.length).toBeGreaterThan(30);
  expect(asked.filter((name) => !known.has(name) && !known.has(withoutSuffix(name)))).toEqual([]);
});

test.each(DASHBOARDS)('every panel of $uid has a place of its own', (dashboard) => {
  const { panels } = JSON.parse(grafanaText(dashboard));
  const ids = panels.map(({ id }: { id: number }) => id);
  const places = panels.map(({ gridPos: { x, y } }: { gridPos: { x: number; y: number } }) => `${x} ${y}`);
  expect(new Set(ids).size).toBe(panels.length);
  expect(new Set(places).size).toBe(panels.length);
});
