import { statfsSync, statSync } from 'node:fs';
import { beforeAll, expect, test } from 'vitest';
import { z } from 'zod';
import { testLabels } from '../support/cleanup.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { run } from '../support/toolchain/command.ts';
import { ensureNodeImage } from '../support/toolchain/images/base-images.ts';
import { NODE_IMAGE } from '../support/toolchain/versions.ts';
import { REPOSITORY, textOf } from './files.ts';

const MEASURE = (path: string): string => `
  import { createStatfsReader } from '/checkout/packages/machine/filesystem.ts';
  const imageFilesystems = async () => ({ image: [], container: [] });
  const reader = createStatfsReader({ hostRoot: '/', nodefs: '${path}', imageFilesystems, nowMs: () => 0 });
  console.log(JSON.stringify(await reader.read()));
`;
const Measured = z.object({ nodefs: z.object({ device: z.string(), capacityBytes: z.string() }) });
const RUN_MS = 60_000;

beforeAll(ensureNodeImage);

test('an empty folder on the filesystem of the kubelet is enough to measure it from inside a pod', async () => {
  const node = textOf('deploy/helm/fleetgc/templates/_node.tpl');
  const [, path = 'no path'] = /- name: FLEETGC_NODEFS_PATH\n {2}value: (\S+)/.exec(node) ?? [];
  expect(path).toMatch(/^\//);
  const folder = temporaryDirectory();
  const { blocks, bsize } = statfsSync(folder, { bigint: true });

  const { nodefs } = await measuredInContainer(path, folder);

  expect(nodefs).toEqual({
    device: String(statSync(folder).dev),
    capacityBytes: String(blocks * bsize),
  });
});

async function measuredInContainer(path: string, folder: string): Promise<z.infer<typeof Measured>> {
  const labels = Object.entries(testLabels()).flatMap(([key, value]) => ['--label', `${key}=${value}`]);
  const mounts = ['--volume', `${REPOSITORY}:/checkout:ro`, '--volume', `${folder}:${path}:ro`];
  const program = [NODE_IMAGE, 'node', '--input-type=module', '--eval', MEASURE(path)];
  const args = ['run', '--rm', '--network', 'none', ...labels, ...mounts, ...program];
  const { stdout } = await run('docker', args, { usualMs: RUN_MS });
  return Measured.parse(JSON.parse(stdout));
}
