import type { PolicyFile } from '../../../../schemas/policy/policy-file.ts';

/** A policy of its own for one node: the tests share a broker, and what they want differs. */
export const policyFor = (node: string, over: Partial<PolicyFile> = {}): PolicyFile => ({
  name: node,
  mode: 'enforce',
  selector: { nodeNames: [node] },
  ...over,
});
