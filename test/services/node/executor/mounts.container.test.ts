import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, expect, test } from 'vitest';
import { testLabels } from '../../../support/cleanup.ts';
import { temporaryDirectory } from '../../../support/temporary-directory.ts';
import { run } from '../../../support/toolchain/command.ts';
import { ensureNodeImage } from '../../../support/toolchain/images/base-images.ts';
import { NODE_IMAGE } from '../../../support/toolchain/versions.ts';

const CHECKOUT = join(import.meta.dirname, '..', '..', '..', '..');
const NAME = 'default_web_pod-1';

/** Answers with the devices of the root and of what is mounted below it, and with what came of the removal. */
const REMOVAL = `
  import { statSync } from 'node:fs';
  import { openDirectory } from '/opt/fleetgc/services/node/executor/pod-logs.ts';
  import { Remover } from '/opt/fleetgc/services/node/executor/remove.ts';
  const devices = ['/logs', '/logs/${NAME}/mounted'].map((path) => statSync(path).dev);
  const logs = { podLogsDir: '/logs', openDirectory };
  const entry = { kind: 'pod-log-directory', name: '${NAME}', podUid: 'pod-1' };
  const attempt = await new Remover({}, logs).remove(entry, { confirm: (look) => look({}) });
  console.log(JSON.stringify({ devices, attempt }));
`;

beforeAll(ensureNodeImage);

test('[I3, K3] nothing that is mounted below a log directory goes, though it is of the same filesystem', async () => {
  const base = temporaryDirectory();
  const [logs, precious] = [join(base, 'logs'), join(base, 'precious')];
  mkdirSync(join(logs, NAME, 'mounted'), { recursive: true });
  mkdirSync(precious);
  writeFileSync(join(precious, 'file'), '');

  const volumes = [`${CHECKOUT}:/opt/fleetgc:ro`, `${logs}:/logs`, `${precious}:/logs/${NAME}/mounted`];
  const { devices, attempt } = await inContainer(volumes, REMOVAL);

  expect(devices[0]).toBe(devices[1]);
  const message = `something is mounted at /logs/${NAME}/mounted`;
  expect(attempt).toEqual({ outcome: 'failed', reason: 'log-removal-failed', message });
  expect(readdirSync(precious)).toEqual(['file']);
});

async function inContainer(volumes: readonly string[], script: string) {
  const labels = Object.entries(testLabels()).flatMap(([key, value]) => ['--label', `${key}=${value}`]);
  const mounts = volumes.flatMap((volume) => ['--volume', volume]);
  const node = [NODE_IMAGE, 'node', '--input-type=module', '--eval', script];
  const args = ['run', '--rm', '--network', 'none', ...labels, ...mounts, ...node];
  const { stdout } = await run('docker', args, { usualMs: 60_000 });
  return JSON.parse(stdout);
}
