import { afterAll, beforeAll, describe } from 'vitest';
import { connectReader, connectRemover } from '../../../packages/cri/client.ts';
import { connectWorkload } from '../../support/nodes/cri-workload.ts';
import { containerContract } from './contract/containers.ts';
import { imageContract } from './contract/images.ts';
import { layerContract, withoutLayersContract } from './contract/layers.ts';
import type { ContractNode, Tried } from './contract/node.ts';
import { processContract } from './contract/process.ts';
import { sandboxContract } from './contract/sandboxes.ts';
import type { RuntimeTraits } from './contract/traits.ts';

/** What every runtime does for us, with the same assertions for the simulated and the real ones. */
export function runtimeContract(
  name: string,
  traits: RuntimeTraits,
  start: () => Promise<ContractNode>,
): void {
  describe(name, () => {
    let tried: Tried;
    beforeAll(async () => {
      const node = await start();
      tried = { traits, node, runtime: runtimeOf(node), workload: connectWorkload(node.endpoint) };
    });
    afterAll(async () => {
      tried.workload[Symbol.dispose]();
      tried.runtime[Symbol.dispose]();
      await tried.node[Symbol.asyncDispose]();
    });
    describe('images', () => imageContract(() => tried));
    const layers = traits.tellsLayers ? layerContract : withoutLayersContract;
    describe('layers', () => layers(() => tried));
    describe('sandboxes', () => sandboxContract(() => tried));
    describe('containers', () => containerContract(() => tried));
    describe('the runtime', () => processContract(() => tried));
  });
}

function runtimeOf({ endpoint, readingEndpoint }: ContractNode): Tried['runtime'] {
  const remover = connectRemover(endpoint);
  const reader = connectReader(readingEndpoint);
  return {
    ...remover,
    ...reader,
    [Symbol.dispose]: () => {
      remover[Symbol.dispose]();
      reader[Symbol.dispose]();
    },
  };
}
