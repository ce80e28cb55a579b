import { deciderVerb } from './decide.ts';

export const verb = deciderVerb({
  help: [
    'Reads disk statistics. Where a usage threshold or an eviction threshold of the policy is met, it orders the node to look and begins a reclaim.',
  ],
  examples: ['fleetgc pressure --kafka-brokers kafka:9092 --http-address 0.0.0.0:9640'],
  service: 'pressure',
  deciders: ['pressure'],
  httpPort: 9644,
});
