import { deciderVerb } from './decide.ts';

export const verb = deciderVerb({
  help: [
    'Reads disk statistics. When a usage threshold or an eviction threshold of the policy is met, it orders an inventory from the node and begins a reclaim.',
  ],
  examples: ['fleetgc pressure --kafka-brokers kafka:9092 --trust off --http-address 0.0.0.0:9640'],
  service: 'pressure',
  deciders: ['pressure'],
  httpPort: 9644,
});
