import { expect, test } from 'vitest';
import { controllerPolicyLog } from '../../../cli/framework/policy-writer.ts';
import { FleetGcError } from '../../../packages/process/errors.ts';
import { createLogger } from '../../../packages/process/logger.ts';
import { logLines } from '../../support/log-lines.ts';

const { signal } = new AbortController();
const UNREAD = () => {
  throw new FleetGcError('INTERNAL', 'nothing is to be read');
};

test('what a command that brings the key says is for the logger output, and for no status of an object', async () => {
  const logged = logLines();
  const log = { read: UNREAD, publish: UNREAD };
  const policies = controllerPolicyLog(
    log,
    { current: { node: UNREAD, cluster: UNREAD } },
    {
      readTrust: async () => {
        throw new FleetGcError('KEY_UNUSABLE', 'no key. It wrote to stderr: token hvs.CAES');
      },
      logger: createLogger({ service: 'test', level: 'info' }, logged),
    },
  );
  for (const ask of [policies.openWriter, policies.read])
    await expect(ask(signal)).rejects.toThrow(
      new FleetGcError(
        'KEY_UNUSABLE',
        'the key of the policy controller cannot be used: its logger output says why',
      ),
    );
  expect(logged.lines.join('')).toContain('hvs.CAES');
});
