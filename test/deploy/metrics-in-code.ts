import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { REPOSITORY } from './files.ts';

export interface MetricInCode {
  readonly name: string;
  readonly kind: string;
}

/** By the calls that make them; the only ones with names from a list are the gauges of filesystems. */
export function metricsInCode(): readonly MetricInCode[] {
  const sources = globSync('{cli,packages,services,lab/demo,lab/sim}/**/*.ts', { cwd: REPOSITORY }).map(
    (file) => readFileSync(join(REPOSITORY, file), 'utf8'),
  );
  const called = sources.flatMap((text) => [
    ...text.matchAll(/metrics\.(count|total|occurrences|distribution|gauge)\(\s*([^\s,]+),/g),
  ]);
  const literal = called.flatMap(([, kind = '', name = '']) =>
    name.startsWith("'") ? [{ kind, name: name.slice(1, -1) }] : [],
  );
  const listed = sources.flatMap((text) =>
    [...text.matchAll(/^ {2}\['(filesystem_[a-z_]+)',/gm)].map(([, name = '']) => ({ kind: 'gauge', name })),
  );
  expect(called.length - literal.length).toBe(1);
  expect(listed).toHaveLength(4);
  const byName = new Map([...literal, ...listed].map((metric) => [`${metric.kind} ${metric.name}`, metric]));
  return [...byName.values()].map(({ kind, name }) => ({
    kind,
    name: name.startsWith('process_') ? name : `fleetgc_${name}`,
  }));
}
