import { startApiServer } from '../../../lab/sim/api-server/api-server.ts';
import { SimulatedCluster } from '../../../lab/sim/api-server/cluster.ts';
import { apiConnection } from '../../../packages/kube-api/connection.ts';
import { ServerClock } from '../../../packages/kube-api/server-clock.ts';
import { systemSources } from '../../../packages/process/system-sources.ts';
import { accessWith } from '../../support/nodes/api-access.ts';
import { faultSuite } from './support/fault-suite.ts';

const TOKEN = 'known';

faultSuite('simulated', async () => {
  const { now, newId, wait, monotonicNow } = systemSources;
  const cluster = new SimulatedCluster({ now, newId });
  const server = await startApiServer({ cluster, token: TOKEN, wait });
  const connection = apiConnection({
    access: accessWith(server.url, { token: TOKEN }),
    clock: new ServerClock(),
    nowMs: monotonicNow,
    userAgent: 'fleetgc/test',
  });
  return {
    connection,
    kubeconfig: {
      clusters: [{ name: 'c', cluster: { server: server.url } }],
      users: [{ name: 'u', user: { token: TOKEN } }],
      contexts: [{ name: 'x', context: { cluster: 'c', user: 'u' } }],
      'current-context': 'x',
    },
    [Symbol.asyncDispose]: async () => {
      connection[Symbol.dispose]();
      await server[Symbol.asyncDispose]();
    },
  };
});
