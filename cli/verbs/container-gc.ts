import { deciderVerb } from './decide.ts';

export const verb = deciderVerb({
  help: [
    'Reads inventories and sends commands to remove dead containers and sandboxes, where the policy says "mode: enforce". What it decided and why is recorded either way.',
  ],
  examples: ['fleetgc container-gc --kafka-brokers kafka:9092 --http-address 0.0.0.0:9640'],
  service: 'container-gc',
  deciders: ['container-gc'],
  httpPort: 9645,
});
