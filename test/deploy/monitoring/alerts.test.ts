import { expect, test } from 'vitest';
import { anchorsOf } from '../../docs/markdown.ts';
import { textOf } from '../files.ts';
import { metricsInCode } from '../metrics-in-code.ts';
import { ALERT_CASES } from './alert-cases.ts';
import { alerts, metricsIn, recordings } from './rule-files.ts';

const PAGE = 'docs/operating/alerts.md';
const names = alerts.map(({ alert }) => alert);

test('every alert has a case on which it fires and one on which it does not', () => {
  expect(Object.keys(ALERT_CASES).toSorted()).toEqual(names.toSorted());
});

test('rules ask for metrics that the code has, and for what is recorded', () => {
  const known = new Set([
    ...metricsInCode().map(({ name }) => name),
    ...recordings.map(({ record }) => record),
  ]);
  const asked = [...alerts, ...recordings].flatMap(({ expr }) => metricsIn(expr));
  expect(asked.length).toBeGreaterThan(alerts.length);
  expect(asked.filter((name) => !known.has(name))).toEqual([]);
});

test('what is recorded is asked for by an alert, or told by its name', () => {
  expect(
    recordings.filter(({ record }) => !/^[a-z]+:fleetgc_[a-z_]+:(sum|min|rate5m)$/.test(record)),
  ).toEqual([]);
});

test('every alert leads to its section, and every section is that of an alert', () => {
  const page = textOf(PAGE);
  const anchors = anchorsOf(page);
  for (const { alert, annotations } of alerts) {
    const [path, anchor = ''] = annotations.runbook_url.split('#');
    expect([path, anchor]).toEqual([PAGE, alert.toLowerCase()]);
    expect([...anchors]).toContain(anchor);
  }
  const told = [...page.matchAll(/^### (.*)$/gm)].map(([, heading]) => heading);
  expect(told).toEqual(names);
});

test('every section says what to do', () => {
  const sections = textOf(PAGE).split(/^### /m).slice(1);
  expect(sections.filter((section) => !section.includes('\n**Do:** '))).toEqual([]);
});
