import { deciderVerb } from './decide.ts';

export const verb = deciderVerb({
  help: [
    'Reads inventories and sends commands to remove images, if the policy says "mode: enforce". In every mode it records what it decided and why.',
  ],
  examples: ['fleetgc image-gc --kafka-brokers kafka:9092 --trust off --http-address 0.0.0.0:9640'],
  service: 'image-gc',
  deciders: ['image-gc'],
  httpPort: 9646,
});
