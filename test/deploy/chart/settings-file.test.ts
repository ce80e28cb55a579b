import { expect, test } from 'vitest';
import { z } from 'zod';
import { chartSettingsText } from '../../../deploy/helm/chart-settings.ts';
import { KafkaPrefix, MOST_PREFIX_LENGTH } from '../../../packages/log/kafka/client/options.ts';
import { textOf, verbs } from '../files.ts';

test.each([
  '',
  'acme.',
  'acme.eu-',
  'acme',
  '.acme.',
  'a b.',
  '.',
  'acme.fleetgc-notify-',
  `${'a'.repeat(MOST_PREFIX_LENGTH - 1)}.`,
  `${'a'.repeat(MOST_PREFIX_LENGTH)}.`,
])('the chart takes the prefix %j where the program does', (prefix) => {
  const Kafka = z.object({ properties: z.object({ prefix: PrefixSchema }) });
  const Chart = z.object({ properties: z.object({ kafka: Kafka }) });
  const { maxLength, pattern, not } = Chart.parse(
    JSON.parse(textOf('deploy/helm/fleetgc/values.schema.json')),
  ).properties.kafka.properties.prefix;
  const isTaken =
    prefix.length <= maxLength && new RegExp(pattern).test(prefix) && !new RegExp(not.pattern).test(prefix);
  expect(isTaken).toBe(KafkaPrefix.safeParse(prefix).success);
});

const PrefixSchema = z.object({
  maxLength: z.int().default(Number.MAX_SAFE_INTEGER),
  pattern: z.string(),
  not: z.object({ pattern: z.string() }).default({ pattern: '(?!)' }),
});

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
