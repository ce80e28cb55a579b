import { expect, test } from 'vitest';
import { CheckOutcome } from '../../schemas/reports/doctor.ts';
import { CHECK_BOUND_MS } from '../../services/doctor/checks.ts';
import { CLUSTER_CHECKS } from '../../services/doctor/cluster.ts';
import { LEAST_MINOR } from '../../services/doctor/cluster-findings.ts';
import { DECIDER_CHECKS } from '../../services/doctor/decider.ts';
import { NODE_CHECKS } from '../../services/doctor/node.ts';
import { textOf } from '../deploy/files.ts';
import { tableRows } from './markdown.ts';

const page = textOf('docs/operating/doctor.md');

test('the page has each check of a node, in the order in which they are told', () => {
  expect(tableRows(page, 'check').map(([id]) => id)).toEqual(Object.keys(NODE_CHECKS));
});

test('the page has each check of a decision service', () => {
  expect(tableRows(page, 'check of services').map(([id]) => id)).toEqual(Object.keys(DECIDER_CHECKS));
});

test('the page has each check of a cluster, and the oldest Kubernetes', () => {
  expect(tableRows(page, 'check of clusters').map(([id]) => id)).toEqual(Object.keys(CLUSTER_CHECKS));
  expect(page).toContain(`Kubernetes is 1.${LEAST_MINOR} or newer`);
  expect(textOf('docs/operating/clusters.md')).toContain(`1.${LEAST_MINOR} or newer`);
});

test('the page has each outcome, and the bound of a check', () => {
  expect(new Set(tableRows(page, 'outcome').map(([outcome]) => outcome))).toEqual(
    new Set(CheckOutcome.options),
  );
  expect(page).toContain(`within ${CHECK_BOUND_MS / 1000} s`);
});
