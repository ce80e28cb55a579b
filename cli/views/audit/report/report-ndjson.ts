import type { AuditReport } from '../../../../schemas/reports/audit-report.ts';

/** A line for each entry of each list, told apart by `part`, and one for the rest. */
export function reportNdjson(report: AuditReport): string {
  const members = Object.entries(report);
  const lists = members.flatMap(([part, value]): readonly object[] =>
    Array.isArray(value) ? value.map((entry: object) => ({ part, ...entry })) : [],
  );
  const rest = Object.fromEntries(members.filter(([, value]) => !Array.isArray(value)));
  return [...lists, { part: 'summary', ...rest }].map((line) => JSON.stringify(line)).join('\n');
}
