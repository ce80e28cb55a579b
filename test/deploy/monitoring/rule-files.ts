import { parse } from 'yaml';
import { z } from 'zod';
import { textOf } from '../files.ts';

const FOLDER = 'deploy/monitoring';

const Alert = z.strictObject({
  alert: z.string(),
  expr: z.string(),
  for: z.string().optional(),
  labels: z.strictObject({ severity: z.enum(['critical', 'warning', 'info']) }),
  annotations: z.strictObject({ summary: z.string(), description: z.string(), runbook_url: z.string() }),
});
const Recording = z.strictObject({ record: z.string(), expr: z.string() });

const groupsOf = <Rule extends z.ZodType>(rule: Rule) =>
  z.strictObject({ groups: z.array(z.strictObject({ name: z.string(), rules: z.array(rule) })) });

const rulesIn = <Rule extends z.ZodType>(file: string, rule: Rule): readonly z.infer<Rule>[] =>
  groupsOf(rule)
    .parse(parse(textOf(`${FOLDER}/${file}`)))
    .groups.flatMap(({ rules }) => rules);

export const RULE_FILES = ['recording.yaml', 'alerts.yaml'].map((file) => `${FOLDER}/${file}`);
export const alerts = rulesIn('alerts.yaml', Alert);
export const recordings = rulesIn('recording.yaml', Recording);

/** The metrics that an expression asks, recorded ones and those of FleetGC. */
export const metricsIn = (expression: string): readonly string[] =>
  expression.match(/\b(?:[a-z]+:)?fleetgc_[a-z0-9_]+(?::[a-z0-9]+)?\b/g) ?? [];

/** A histogram has three. */
export const withoutSuffix = (name: string): string => name.replace(/_(bucket|sum|count)$/, '');
