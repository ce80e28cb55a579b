import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { serveReadingProxy } from '../../../../packages/cri/proxy/reading-proxy.ts';
import type { ContractNode } from './node.ts';

/** The same node, whose runtime is read through a socket on which nothing else can be done. */
export async function readThroughProxy(node: ContractNode): Promise<ContractNode> {
  const directory = mkdtempSync(join(tmpdir(), 'fleetgc-proxy-'));
  const path = join(directory, 'cri.sock');
  const proxy = await serveReadingProxy({
    socket: { path, mode: 0o600, groupId: null },
    endpoint: node.endpoint,
    onRefused: () => undefined,
    onDenied: (call) => {
      throw new Error(`${call} was denied`);
    },
  });
  return {
    ...node,
    readingEndpoint: path,
    [Symbol.asyncDispose]: async () => {
      await proxy[Symbol.asyncDispose]();
      rmSync(directory, { recursive: true, force: true });
      await node[Symbol.asyncDispose]();
    },
  };
}
