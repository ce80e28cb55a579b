import { describe, expect, test } from 'vitest';
import { type ErrorCode, FleetGcError } from '../../../../packages/process/errors.ts';
import { openDirectory } from '../../../../services/node/executor/pod-logs.ts';
import { Remover } from '../../../../services/node/executor/remove.ts';
import { runtimeImage } from '../../../fixtures/listing.ts';
import { fakeRuntime } from './support/fake-runtime.ts';
import { alwaysFresh } from './support/looked.ts';

const image = runtimeImage('app');
const other = runtimeImage('other');

/** What comes of a removal after which the runtime lists so, one list after the other. */
async function removing(
  lists: readonly (readonly (typeof image)[] | 'no answer')[],
  call: () => void = () => undefined,
) {
  const slept: number[] = [];
  let listed = 0;
  const runtime = fakeRuntime();
  runtime.removeImage = async () => call();
  runtime.listImages = async () => {
    const list = lists[listed++] ?? [];
    if (list === 'no answer') throw new FleetGcError('RUNTIME_MISSING', 'no socket');
    return [...list];
  };
  const podLogs = { podLogsDir: '/nowhere', containerLogsDir: '/nowhere', openDirectory };
  const remover = new Remover(
    runtime,
    podLogs,
    async () => ({ ok: false, message: 'nobody asks' }),
    async (ms) => void slept.push(ms),
  );
  const attempt = await remover.remove({ kind: 'image', image }, alwaysFresh());
  return { attempt, listed, slept };
}

const failing = (code: ErrorCode) => () => {
  throw new FleetGcError(code, 'as the test wants it');
};

describe('[M7] an image', () => {
  test('that the runtime does not list after its removal is removed, whatever else it lists', async () => {
    expect(await removing([[other]])).toEqual({ attempt: { outcome: 'removed' }, listed: 1, slept: [] });
  });

  test('that it lists for a moment still is removed too', async () => {
    expect(await removing([[other, image], [other]])).toEqual({
      attempt: { outcome: 'removed' },
      listed: 2,
      slept: [200],
    });
  });

  test('that it lists a moment later as well is not', async () => {
    const { attempt, listed } = await removing([[image], [image]]);
    expect(attempt).toMatchObject({ outcome: 'failed', reason: 'still-listed' });
    expect(listed).toBe(2);
  });

  test.each([
    { code: 'RUNTIME_TIMEOUT', reason: 'deadline-exceeded' },
    { code: 'RUNTIME_FAILED', reason: 'runtime-error' },
  ] as const)(
    '[M17] whose removal ends with $code and that is listed stays: $reason',
    async ({ code, reason }) => {
      const { attempt, listed, slept } = await removing([[image]], failing(code));
      expect(attempt).toEqual({ outcome: 'failed', reason, message: 'as the test wants it' });
      expect({ listed, slept }).toEqual({ listed: 1, slept: [] });
    },
  );

  test('whose removal failed is told by that, not by the list that failed too', async () => {
    expect((await removing(['no answer'], failing('RUNTIME_TIMEOUT'))).attempt).toMatchObject({
      reason: 'deadline-exceeded',
    });
    expect((await removing(['no answer'])).attempt).toEqual({
      outcome: 'failed',
      reason: 'runtime-error',
      message: 'no socket',
    });
  });

  test('[M31] that the runtime does not know is not looked for', async () => {
    expect(await removing([[image]], failing('RUNTIME_NOT_FOUND'))).toEqual({
      attempt: { outcome: 'not-found' },
      listed: 0,
      slept: [],
    });
  });

  test('[C8] that the runtime has in use, though CRI lists no user, is refused: the runtime did right', async () => {
    expect((await removing([[image]], failing('RUNTIME_IMAGE_IN_USE'))).attempt).toEqual({
      outcome: 'refused',
      reason: 'in-use-outside-cri',
      message: 'as the test wants it',
    });
  });
});
