import { deciderVerb } from './decide.ts';

export const verb = deciderVerb({
  help: [
    'Reads what the agents of clusters tell of owners, and sends commands to delete what they left behind, if the policy says "mode: enforce". In every mode it records what it decided and why.',
  ],
  examples: ['fleetgc graph-gc --kafka-brokers kafka:9092 --trust off --http-address 0.0.0.0:9640'],
  service: 'graph-gc',
  deciders: ['graph-gc'],
  httpPort: 9650,
});
