import type { NodeIdentity } from '../../schemas/events/identity.ts';

/** One of any number of nodes that are nothing but a name. */
export const benchNode = (number: number): NodeIdentity => ({
  cluster: 'bench',
  node: `node-${number}`,
  nodeInstance: `00000000-0000-4000-8000-${String(number).padStart(12, '0')}`,
});
