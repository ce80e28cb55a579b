import { expect } from 'vitest';
import type { LogRecord } from '../../packages/log/port.ts';
import type { RunningVerb } from '../cli/service-process.ts';
import { type Secret, showsIn } from './secret.ts';

/** All that a service says to anybody. */
export async function saidBy(running: RunningVerb): Promise<string> {
  const pages = await Promise.all(
    ['/readyz?verbose', '/livez', '/metrics', '/elsewhere'].map((path) => running.get(path)),
  );
  await running.terminate();
  return [running.output.stdout, running.output.stderr, ...pages.map(({ text }) => text)].join('\n');
}

export function expectNone(text: string, secrets: readonly Secret[]): void {
  expect(text.length).toBeGreaterThan(0);
  for (const secret of secrets) expect(showsIn(text, secret), secret.file).toEqual([]);
}

/** All of a record that anybody can read. */
export const textsOf = (records: readonly LogRecord[]): readonly string[] =>
  records.map(({ key, value, headers }) => `${key} ${value} ${JSON.stringify(headers)}`);
