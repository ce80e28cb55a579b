import { deciderVerb } from './decide.ts';

export const verb = deciderVerb({
  help: [
    'Reads inventories and sends commands to remove dead containers and sandboxes, if the policy says "mode: enforce". In every mode it records what it decided and why.',
  ],
  examples: ['fleetgc container-gc --kafka-brokers kafka:9092 --trust off --http-address 0.0.0.0:9640'],
  service: 'container-gc',
  deciders: ['container-gc'],
  httpPort: 9645,
});
