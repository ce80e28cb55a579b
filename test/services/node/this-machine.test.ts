import { join } from 'node:path';
import { expect, test } from 'vitest';
import { thisMachine } from '../../../services/node/this-machine.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

const OPTIONS = {
  cluster: 'prod',
  nodeName: 'node-1',
  nodeLabels: undefined,
  nodeLabelsFile: undefined,
  runtimeEndpoint: 'unix:///run/none.sock',
  podLogsDir: '/var/log/pods',
  containerLogsDir: '/var/log/containers',
  log: 'kafka',
} as const;
const runtime = { imageFilesystems: async () => ({ image: [], container: [] }) };

test("the kubelet's filesystem is measured at the path that is named", async () => {
  const nodefsPath = temporaryDirectory();
  const { nodefs } = await thisMachine({ ...OPTIONS, nodefsPath })
    .filesystems(runtime)
    .read();

  expect(nodefs?.mountpoint).toBe(nodefsPath);
});

test('a path that is not there is no other filesystem in its place, but refused', () => {
  const nodefsPath = join(temporaryDirectory(), 'missing');

  expect(() => thisMachine({ ...OPTIONS, nodefsPath })).toThrow(
    expect.objectContaining({
      code: 'CONFIG_INVALID',
      message: expect.stringContaining(`--nodefs-path: there is no ${nodefsPath}`),
    }),
  );
});
