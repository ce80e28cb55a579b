import { expect, test } from 'vitest';
import { CHECK_BOUND_MS, ok, runChecks } from '../../../services/doctor/checks.ts';

const never = new Promise<never>(() => undefined);

test('checks are made side by side and told in the order of the table; one that hangs or fails holds up no other', async () => {
  const waits: number[] = [];
  const answered = Promise.withResolvers<void>();
  const checks = {
    hangs: { looksAt: 'what never answers', look: () => never },
    fails: {
      looksAt: 'what fails',
      look: () => {
        throw new Error('it broke');
      },
    },
    answers: {
      looksAt: 'what answers',
      look: async (seen: string) => {
        answered.resolve();
        return ok(seen);
      },
    },
  };

  const found = await runChecks(checks, 'all', async (ms) => {
    waits.push(ms);
    await answered.promise;
  });

  expect(found.map(({ id, outcome }) => [id, outcome])).toEqual([
    ['hangs', 'problem'],
    ['fails', 'problem'],
    ['answers', 'ok'],
  ]);
  expect(found[0]).toMatchObject({ looksAt: 'what never answers', seen: 'It has not answered within 20 s.' });
  expect(found[1]?.seen).toBe('The check failed: it broke');
  expect(new Set(waits)).toEqual(new Set([CHECK_BOUND_MS]));
});
