import { type ChildProcess, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import pino from 'pino';
import {
  CLUSTER_POLICY,
  furnish,
  playScenes,
  SCENES,
  Settled,
  TENANT,
  tenant,
  watchCluster,
} from '../../../../lab/demo/cluster.ts';
import { startApiServer } from '../../../../lab/sim/api-server/api-server.ts';
import { Deeds, SimulatedCluster } from '../../../../lab/sim/api-server/cluster.ts';
import { SERVED } from '../../../../lab/sim/api-server/objects.ts';
import { openEmbeddedLog } from '../../../../packages/log/embedded.ts';
import type { EventLog } from '../../../../packages/log/port.ts';
import { systemSources } from '../../../../packages/process/system-sources.ts';
import { PROGRAM, PROGRAM_ENVIRONMENT } from '../../../support/program.ts';
import { waitUntil } from '../../../support/wait-until.ts';

/** What `fleetgc cluster run` did in a simulated cluster: a cascade ran, and another one is held. */
export interface PlayedCluster extends AsyncDisposable {
  readonly log: EventLog;
  readonly logPath: string;
  /** Of the owner whose cascade is held. */
  readonly heldUid: string;
  /** Of a Deployment whose cascade ran, so that all of it is gone. */
  readonly goneUid: string;
}

export const openLog = (path: string): Promise<EventLog> =>
  openEmbeddedLog(
    { path, maxBytes: 64 * 1024 * 1024 },
    { logger: pino({ level: 'silent' }), now: Date.now, random: Math.random, newId: randomUUID },
  );

/** As a user starts it, on the scenes of the demo. */
export async function playCluster(directory: string): Promise<PlayedCluster> {
  const stack = new AsyncDisposableStack();
  const served = new SimulatedCluster({ kinds: [...SERVED, TENANT], now: Date.now, newId: randomUUID });
  const deeds = new Deeds(served);
  furnish(deeds);
  const [heldUid, goneUid] = [deeds.uidOf(tenant), deeds.uidOf(WEB)];
  const token = randomUUID();
  const server = stack.use(await startApiServer({ cluster: served, token, wait: systemSources.wait }));
  const logPath = join(directory, 'cluster.db');
  const child = startRun(directory, logPath, { server: server.url, token });
  stack.defer(async () => {
    child.kill('SIGKILL');
    await once(child, 'close');
  });
  const said = { text: '' };
  child.stdout?.setEncoding('utf8').on('data', (text: string) => {
    said.text += text;
  });
  await waitUntil('cluster run to have its policy', 30_000, () => said.text.includes('Policy demo-cluster'));
  const log = stack.use(await openLog(logPath));
  const ending = new AbortController();
  const settled = new Settled();
  const watching = watchCluster({ log, fromMs: 0 }, (news) => settled.note(news), ending.signal);
  const playing = { deeds, settled, announce: () => undefined, sources: systemSources };
  await playScenes(SCENES, playing, ending.signal);
  ending.abort();
  await watching.catch(() => undefined);
  return { log, logPath, heldUid, goneUid, [Symbol.asyncDispose]: () => stack.disposeAsync() };
}

const WEB = {
  kind: { group: 'apps', version: 'v1', kind: 'Deployment', resource: 'deployments', namespaced: true },
  name: { namespace: 'shop', name: 'web' },
};

function startRun(
  directory: string,
  logPath: string,
  { server, token }: { readonly server: string; readonly token: string },
): ChildProcess {
  const [kubeconfig, policy] = [join(directory, 'kubeconfig'), join(directory, 'clusters.yaml')];
  const named = { cluster: 'demo', user: 'demo' };
  const text = {
    clusters: [{ name: 'demo', cluster: { server } }],
    users: [{ name: 'demo', user: { token } }],
    contexts: [{ name: 'demo', context: named }],
    'current-context': 'demo',
  };
  writeFileSync(kubeconfig, JSON.stringify(text), { mode: 0o600 });
  writeFileSync(policy, CLUSTER_POLICY);
  const args = ['cluster', 'run', '--cluster', 'demo', '--kubeconfig', kubeconfig, '--policy', policy];
  return spawn(PROGRAM, [...args, '--log-path', logPath, '--http-address', '127.0.0.1:0'], {
    env: PROGRAM_ENVIRONMENT,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
}
