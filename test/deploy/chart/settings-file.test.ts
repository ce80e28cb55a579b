import { expect, test } from 'vitest';
import { chartSettingsText } from '../../../deploy/helm/chart-settings.ts';
import { textOf, verbs } from '../files.ts';

test('the chart knows the variables of what its pods run, and refuses others: npm run chart', () => {
  const written = textOf('deploy/helm/fleetgc/files/settings.yaml');
  expect(written, 'npm run chart').toBe(chartSettingsText(verbs));
  expect(written).toContain('FLEETGC_LOG_LEVEL:');
  // Of YAML 1.1, as Helm reads it, off would be false.
  expect(written).not.toMatch(/- (off|on|yes|no|true|false)$/m);
});

test('a verb that the chart does not run has no setting there', () => {
  const simulated = verbs.find(({ name }) => name === 'simulate-node');
  const [own = ''] = (simulated?.options ?? [])
    .map(({ variable }) => variable)
    .filter((name) => !textOf('deploy/helm/fleetgc/files/settings.yaml').includes(name));
  expect(own).toMatch(/^FLEETGC_/);
});
