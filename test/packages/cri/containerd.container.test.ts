import { realContractNode } from './contract/real-node.ts';
import { readThroughProxy } from './contract/through-proxy.ts';
import { TRAITS } from './contract/traits.ts';
import { runtimeContract } from './contract.ts';

runtimeContract('containerd 2.4.2', TRAITS['containerd 2'], () => realContractNode('containerd-2.4.2'));
runtimeContract('containerd 1.6', TRAITS['containerd 1.6'], () => realContractNode('containerd-1.6'));
runtimeContract('containerd 2.4.2, read through the proxy', TRAITS['containerd 2'], async () =>
  readThroughProxy(await realContractNode('containerd-2.4.2')),
);
runtimeContract('containerd 1.6, read through the proxy', TRAITS['containerd 1.6'], async () =>
  readThroughProxy(await realContractNode('containerd-1.6')),
);
