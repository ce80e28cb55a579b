import { startApiServer } from '../../../../lab/sim/api-server/api-server.ts';
import { SimulatedCluster } from '../../../../lab/sim/api-server/cluster.ts';
import { EVENT, JOB, REPLICATION_CONTROLLER, SERVED } from '../../../../lab/sim/api-server/objects.ts';
import { apiConnection } from '../../../../packages/kube-api/connection.ts';
import { ServerClock } from '../../../../packages/kube-api/server-clock.ts';
import { systemSources } from '../../../../packages/process/system-sources.ts';
import { accessWith } from '../../../support/nodes/api-access.ts';
import { apiServerContract } from './contract.ts';

const TOKEN = 'known';

apiServerContract(
  'simulated',
  async () => {
    const { now, newId, wait } = systemSources;
    const kinds = [...SERVED, REPLICATION_CONTROLLER, JOB, EVENT];
    const cluster = new SimulatedCluster({ kinds, now, newId });
    const server = await startApiServer({ cluster, token: TOKEN, wait });
    const connectionOf = (token: string) =>
      apiConnection({
        access: accessWith(server.url, { token }),
        clock: new ServerClock(),
        nowMs: systemSources.monotonicNow,
        userAgent: 'fleetgc/test',
      });
    const [connection, unknown] = [connectionOf(TOKEN), connectionOf('unknown')];
    return {
      connection,
      unknown,
      [Symbol.asyncDispose]: async () => {
        connection[Symbol.dispose]();
        unknown[Symbol.dispose]();
        await server[Symbol.asyncDispose]();
      },
    };
  },
  { playsGrace: false },
);
