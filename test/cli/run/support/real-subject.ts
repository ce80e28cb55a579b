import { readFileSync } from 'node:fs';
import { parse } from 'yaml';
import { createNetwork } from '../../../support/network.ts';
import { startApiServer } from '../../../support/nodes/api-server.ts';
import { ClusterAccounts } from '../../../support/nodes/cluster-account.ts';
import type { FaultySubject } from './fault-suite.ts';

/** A real API server, and an account that has the printed roles. */
export interface RealSubject extends FaultySubject {
  readonly accounts: ClusterAccounts;
}

/** What collects has what `cluster rbac` prints, and nothing else. */
export async function realSubject(): Promise<RealSubject> {
  await using starting = new AsyncDisposableStack();
  const network = starting.use(await createNetwork());
  const server = starting.use(await startApiServer(network));
  const accounts = starting.use(new ClusterAccounts(server));
  const connection = starting.use(accounts.connection(accounts.admin));
  const kubeconfig: unknown = parse(readFileSync(await accounts.account('run'), 'utf8'));
  const stack = starting.move();
  return { connection, kubeconfig, accounts, [Symbol.asyncDispose]: () => stack.disposeAsync() };
}
