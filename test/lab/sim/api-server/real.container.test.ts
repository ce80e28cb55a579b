import { apiConnection } from '../../../../packages/kube-api/connection.ts';
import { ServerClock } from '../../../../packages/kube-api/server-clock.ts';
import { createNetwork } from '../../../support/network.ts';
import { accessWith, knownBy } from '../../../support/nodes/api-access.ts';
import { startApiServer } from '../../../support/nodes/api-server.ts';
import { ClusterAccounts } from '../../../support/nodes/cluster-account.ts';
import { apiServerContract } from './contract.ts';

apiServerContract(
  'real',
  async () => {
    await using starting = new AsyncDisposableStack();
    const network = starting.use(await createNetwork());
    const server = starting.use(await startApiServer(network));
    const accounts = starting.use(new ClusterAccounts(server));
    const connection = starting.use(accounts.connection(accounts.admin));
    const { server: url, ...known } = await knownBy(accounts.admin);
    const access = accessWith(url, { ...known, token: 'unknown' });
    const unknown = starting.use(
      apiConnection({
        access,
        clock: new ServerClock(),
        nowMs: () => performance.now(),
        userAgent: 'fleetgc/test',
      }),
    );
    const started = starting.move();
    return { connection, unknown, [Symbol.asyncDispose]: () => started.disposeAsync() };
  },
  { playsGrace: true },
);
