import { randomUUID } from 'node:crypto';
import { getContainerRuntimeClient } from 'testcontainers';
import { testLabels } from './cleanup.ts';

/** A network of the Docker Engine on which containers reach each other by their aliases. */
export interface TestNetwork extends AsyncDisposable {
  readonly name: string;
}

export async function createNetwork(): Promise<TestNetwork> {
  const { network: networks } = await getContainerRuntimeClient();
  const name = `fleetgc-test-${randomUUID()}`;
  const network = await networks.create({ Name: name, Driver: 'bridge', Labels: testLabels() });
  return { name, [Symbol.asyncDispose]: () => networks.remove(network) };
}
