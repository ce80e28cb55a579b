import { expect, test } from 'vitest';
import { doctorLines } from '../../../packages/documents/doctor.ts';
import type { DoctorCheck } from '../../../schemas/reports/doctor.ts';

const check = (
  id: string,
  outcome: DoctorCheck['outcome'],
  over: Partial<DoctorCheck> = {},
): DoctorCheck => ({
  id,
  outcome,
  looksAt: 'something',
  seen: `${id} was seen`,
  todo: null,
  ...over,
});

test('what is wrong comes first, with what to do below it; what others wrote rewrites no terminal', () => {
  const lines = doctorLines({
    of: 'node',
    name: 'prod/web-1',
    version: '1',
    checks: [
      check('user', 'ok'),
      check('kubelet', 'skipped'),
      check('policy', 'warning', { seen: 'a pause holds: \u001b[2J', todo: 'End it.' }),
      check('runtime', 'problem', { seen: 'it is away:\n  no socket', todo: 'Start it.' }),
    ],
  });

  expect(lines).toEqual([
    'problem  runtime  it is away:',
    '         no socket',
    '         → Start it.',
    'warning  policy   a pause holds: \\u{1b}[2J',
    '         → End it.',
    'ok       user     user was seen',
    'skipped  kubelet  kubelet was seen',
    '',
    '1 problem, 1 warning, 1 ok, 1 skipped',
  ]);
});
