import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { nodeLabelsIn, openThisNode, thisMachine } from '../../../services/node/this-machine.ts';
import { silentContext } from '../../packages/log/probe.ts';
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

test('all that a node keeps is there before it begins, so that a full disk ends its first start', () => {
  const directory = temporaryDirectory();
  const machineIdFile = join(directory, 'machine-id');
  writeFileSync(machineIdFile, '3d1219c7c4c5404aaa1f6d2a48adfda4');
  const stateDirectory = join(directory, 'state');
  using _node = openThisNode(
    { ...OPTIONS, stateDirectory, machineIdFile, podSources: [], imageLayers: false },
    ['agent', 'executor'],
    silentContext().logger,
  );
  expect(readdirSync(stateDirectory).filter((name) => !/^instance-|\.lock/.test(name))).toEqual([
    'backoff',
    'disk-history',
    'image-history',
    'journal',
    'local-file-seen',
    'removed-images',
  ]);
});

test('a file of labels, with comments, quotes, prefixes and empty values', () => {
  const content = '# labels\n\nzone=a\n  disk="ssd" \nexample.com/role=worker\nempty=\n';
  expect(nodeLabelsIn(content, 'labels')).toEqual({
    zone: 'a',
    disk: 'ssd',
    'example.com/role': 'worker',
    empty: '',
  });
});

test('an empty file holds no labels', () => {
  expect(nodeLabelsIn('', 'labels')).toEqual({});
});

test('every line that is no label is named', () => {
  expect(() => nodeLabelsIn('zone=a\nnonsense\n=b\nkey=two words\n-x=1', '/etc/labels')).toThrow(
    '/etc/labels holds node labels, one name=value a line, and these lines are none: nonsense; =b; key=two words; -x=1',
  );
});
