import { deciderVerb } from './decide.ts';

export const verb = deciderVerb({
  help: [
    'Reads what the agents of clusters tell of pods, and sends commands to remove those that ended and are too many, whose nodes are gone or out of service, or that were deleted before they had a node, if the policy says "mode: enforce". In every mode it records what it decided and why.',
  ],
  examples: ['fleetgc pod-gc --kafka-brokers kafka:9092 --trust off --http-address 0.0.0.0:9640'],
  service: 'pod-gc',
  deciders: ['pod-gc'],
  httpPort: 9652,
});
